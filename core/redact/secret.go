package redact

import (
	"net/url"
	"strings"
)

// Secret is a value that must not be seen, and the name shown in its place.
type Secret struct {
	Name  string
	Value string
}

// shortest is the least number of bytes a value must have to be looked for: a shorter one ("true", "admin") would be
// found everywhere and tell nothing.
const shortest = 8

// FromEnviron picks the secrets out of an environment of NAME=value entries: the variables whose name ends in KEY,
// TOKEN, SECRET or PASSWORD, in any letter case, with a value of at least 8 bytes.
func FromEnviron(environ []string) []Secret {
	var found []Secret
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && len(value) >= shortest && namesSecret(name) {
			found = append(found, Secret{Name: name, Value: value})
		}
	}
	return found
}

// FromURL picks the secrets out of a URL: what stands before the @ (both user and password, because many services
// take a key as the user), and query parameters named like secrets. Each gets the name given. A URL that does not
// parse is searched for what stands before the @ all the same.
func FromURL(name, rawURL string) []Secret {
	var found []Secret
	add := func(value string) {
		if len(value) >= shortest {
			found = append(found, Secret{Name: name, Value: value})
		}
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		for _, part := range brokenUserinfo(rawURL) {
			add(part)
		}
		return found
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(u.User.Username())
		add(password)
	}
	for parameter, values := range u.Query() {
		if !namesSecret(parameter) {
			continue
		}
		for _, value := range values {
			add(value)
		}
	}
	return found
}

// brokenUserinfo cuts the user and the password out of a URL that url.Parse refuses, by hand.
func brokenUserinfo(rawURL string) []string {
	_, rest, ok := strings.Cut(rawURL, "://")
	if !ok {
		return nil
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return nil
	}
	user, password, _ := strings.Cut(rest[:at], ":")
	return []string{user, password}
}

func namesSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, end := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
