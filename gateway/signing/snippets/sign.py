import base64, hashlib, hmac, re
from urllib.parse import parse_qsl, quote


def sign_url(address, key_id, secret, expires):
    """Signs the address of a helper with its parameters; it works until `expires`, in Unix seconds."""
    base, _, query = address.partition("?")
    path = re.sub("^https?://[^/]+", "", base, flags=re.I)
    pairs = parse_qsl(query, keep_blank_values=True) + [("kid", key_id), ("exp", str(expires))]
    pairs = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in pairs)
    canonical = "&".join(f"{name}={value}" for name, value in pairs)
    digest = hmac.new(secret.encode(), f"hg1\n{path}\n{canonical}".encode(), hashlib.sha256).digest()
    signature = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return f"{base}?{canonical}&sig={signature}"
