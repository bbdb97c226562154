require_relative "sign"

# For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
expires = (Time.now.to_i / 3600 + 25) * 3600
puts sign_url("{{address}}", "{{key_id}}", ENV.fetch("SIGNING_SECRET"), expires)
