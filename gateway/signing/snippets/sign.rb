require "erb"
require "openssl"
require "uri"

# Signs the address of a helper with its parameters; it works until `expires`, in Unix seconds.
def sign_url(address, key_id, secret, expires)
  base, _, query = address.partition("?")
  path = base.sub(%r{\Ahttps?://[^/]+}i, "")
  pairs = query.split("&").reject(&:empty?).map { |pair| pair.partition("=").values_at(0, 2) }
  pairs.each { |pair| pair.map! { |text| URI.decode_www_form_component(text) } }
  pairs += [["kid", key_id], ["exp", expires]]
  canonical = pairs.map { |pair| pair.map { |text| ERB::Util.url_encode(text) } }.sort.map { |pair| pair.join("=") }.join("&")
  digest = OpenSSL::HMAC.digest("SHA256", secret, "hg1\n#{path}\n#{canonical}")
  "#{base}?#{canonical}&sig=#{[digest].pack("m0").tr("+/", "-_").delete("=")}"
end
