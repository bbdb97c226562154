<?php
/** Signs the address of a helper with its parameters; it works until `$expires`, in Unix seconds. */
function sign_url(string $address, string $key_id, string $secret, int $expires): string
{
    [$base, $query] = explode('?', $address, 2) + [1 => ''];
    $path = preg_replace('~^https?://[^/]+~i', '', $base);
    $pairs = ['kid' => "kid=$key_id", 'exp' => "exp=$expires"];
    foreach (preg_split('/&/', $query, -1, PREG_SPLIT_NO_EMPTY) as $pair) {
        [$name, $value] = array_map(fn ($text) => rawurlencode(urldecode($text)), explode('=', $pair, 2) + [1 => '']);
        $pairs[$name] = "$name=$value";
    }
    ksort($pairs, SORT_STRING);
    $canonical = implode('&', $pairs);
    $digest = hash_hmac('sha256', "hg1\n$path\n$canonical", $secret, true);
    return "$base?$canonical&sig=" . rtrim(strtr(base64_encode($digest), '+/', '-_'), '=');
}
