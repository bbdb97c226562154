<?php
require __DIR__ . '/sign.php';

// For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
$expires = (intdiv(time(), 3600) + 25) * 3600;
echo sign_url('{{address}}', '{{key_id}}', getenv('SIGNING_SECRET'), $expires), "\n";
