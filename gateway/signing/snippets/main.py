import os, time
from sign import sign_url

# For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
expires = (int(time.time()) // 3600 + 25) * 3600
print(sign_url("{{address}}", "{{key_id}}", os.environ["SIGNING_SECRET"], expires))
