package redact

import "strings"

// rule finds one kind of secret by its shape. Shapes are the ones their issuers document, with a least length so that
// words of prose and code stay readable.
type rule struct {
	name string
	head string // what it begins with, at least three bytes
	// word: it counts only where no letter, digit, _ or - stands before it.
	word bool
	// match measures what begins with head at s[i]. It returns the part to redact, to == 0 for none, and whether the
	// end of s was reached, so that more text could change the answer.
	match func(s string, i int) (from, to int, open bool)
}

// Bounds on what a rule takes, so that a stream holds back a bounded amount.
const (
	longestToken    = 4 << 10
	longestKeyBlock = 16 << 10
	longestUserinfo = 512
)

func rules() []rule {
	list := []rule{
		token("api-key", "sk-", dashed, 16, longestToken, true),
		token("api-key", "sk_live_", isAlnum, 16, longestToken, false),
		token("api-key", "rk_live_", isAlnum, 16, longestToken, false),
		token("github-token", "github_pat_", dashed, 22, longestToken, false),
		token("gitlab-token", "glpat-", dashed, 20, longestToken, false),
		token("npm-token", "npm_", isAlnum, 30, longestToken, false),
		token("google-key", "AIza", dashed, 35, 35, false),
		{name: "jwt", head: "eyJ", word: true, match: matchJWT},
		{name: "private-key", head: "-----BEGIN ", match: matchKeyBlock},
		{name: "url-userinfo", head: "://", match: matchUserinfo},
	}
	for _, kind := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		list = append(list, token("github-token", kind, isAlnum, 20, longestToken, false))
	}
	for _, kind := range "abceoprs" {
		list = append(list, token("slack-token", "xox"+string(kind)+"-", dashed, 10, longestToken, false))
	}
	for _, kind := range []string{"AKIA", "ASIA"} {
		list = append(list, token("aws-key", kind, upperAlnum, 16, 16, false))
	}
	return list
}

// token is a rule for head followed by least to most bytes of a class, one of them a digit if asked. With least equal
// to most the length is exact: a longer word is something else.
func token(name, head string, class func(byte) bool, least, most int, digit bool) rule {
	match := func(s string, i int) (int, int, bool) {
		begin := i + len(head)
		end := begin
		digits := false
		for end < len(s) && end-begin < most && class(s[end]) {
			digits = digits || s[end] >= '0' && s[end] <= '9'
			end++
		}
		open := end == len(s)
		if end-begin < least || digit && !digits {
			return 0, 0, open
		}
		if least == most && end < len(s) && dashed(s[end]) {
			return 0, 0, false
		}
		return i, end, open
	}
	return rule{name: name, head: head, word: true, match: match}
}

// matchJWT finds a JSON Web Token (RFC 7519): base64url parts joined by dots, the first a JSON object ("eyJ" is {").
func matchJWT(s string, i int) (int, int, bool) {
	limit := min(len(s), i+longestToken)
	end, parts := i, 0
	for parts < 5 {
		begin := end
		for end < limit && dashed(s[end]) {
			end++
		}
		if parts < 2 && end-begin < 10 {
			return 0, 0, end == len(s)
		}
		parts++
		if end == limit || s[end] != '.' {
			break
		}
		end++
	}
	if parts < 2 {
		return 0, 0, end == len(s)
	}
	return i, end, end == len(s)
}

// matchKeyBlock finds a private key in PEM (RFC 7468), in text or inside a JSON string. A block without an end is
// taken as far as it looks like one.
func matchKeyBlock(s string, i int) (int, int, bool) {
	const dashes = "-----"
	limit := min(len(s), i+longestKeyBlock)
	label := i + len(dashes)
	n := strings.Index(s[label:min(limit, label+64)], dashes)
	if n < 0 {
		return 0, 0, len(s) < label+64
	}
	if !strings.HasSuffix(s[label:label+n], "PRIVATE KEY") && !strings.HasSuffix(s[label:label+n], "PRIVATE KEY BLOCK") {
		return 0, 0, false
	}
	body := label + n + len(dashes)
	n = strings.Index(s[body:limit], dashes)
	if n >= 0 && strings.HasPrefix(s[body+n+len(dashes):limit], "END ") {
		end := body + n + len(dashes)
		if n = strings.Index(s[end:min(limit, end+64)], dashes); n >= 0 {
			return i, end + n + len(dashes), false
		}
		return i, min(limit, end+64), limit == len(s)
	}
	end := body
	for end < limit && (isBase64(s[end]) || strings.IndexByte("=\\:, \t\r\n", s[end]) >= 0) {
		end++
	}
	return i, end, limit == len(s)
}

// matchUserinfo finds user:password between :// and @ (RFC 3986, section 3.2.1). A user alone is no secret.
func matchUserinfo(s string, i int) (int, int, bool) {
	begin := i + len("://")
	limit := min(len(s), begin+longestUserinfo)
	colon, at := -1, -1
	end := begin
scan:
	for ; end < limit; end++ {
		switch c := s[end]; {
		case c == ':' && colon < 0:
			colon = end
		case c == '@' && colon >= 0:
			at = end
		case c <= ' ' || c == 0x7f:
			break scan
		case c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>' || c == '\\':
			break scan
		}
	}
	open := end == len(s)
	if at < 0 || at == colon+1 {
		return 0, 0, open
	}
	return begin, at, open
}

func dashed(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }

func upperAlnum(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
