package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"sort"
	"strings"
)

// SignURL signs the address of a helper with its parameters; it works until expires, in Unix seconds.
func SignURL(address, keyID, secret string, expires int64) (string, error) {
	base, query, _ := strings.Cut(address, "?")
	path := regexp.MustCompile("(?i)^https?://[^/]+").ReplaceAllString(base, "")
	values, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
	if err != nil {
		return "", err
	}
	values["kid"], values["exp"] = []string{keyID}, []string{fmt.Sprint(expires)}
	var pairs []string // With a space for "=", which sorts before all else: "a" comes before "a-b".
	for name := range values {
		pair := url.QueryEscape(name) + "=" + url.QueryEscape(values.Get(name))
		pairs = append(pairs, strings.Replace(strings.ReplaceAll(pair, "+", "%20"), "=", " ", 1))
	}
	sort.Strings(pairs)
	canonical := strings.ReplaceAll(strings.Join(pairs, "&"), " ", "=")
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "hg1\n%s\n%s", path, canonical)
	return base + "?" + canonical + "&sig=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}
