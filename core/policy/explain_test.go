package policy

import (
	"strings"
	"testing"
)

// TestVerdicts is the table of what the policy says. Each group has rules and lines "effect | rule | layer | action";
// an empty rule and layer mean that the default decided.
func TestVerdicts(t *testing.T) {
	count := 0
	for _, group := range verdicts {
		t.Run(group.name, func(t *testing.T) {
			root := workspace(t)
			b := boundary(t, root, group.rules)
			for _, line := range strings.Split(strings.TrimSpace(group.table), "\n") {
				fields := strings.SplitN(strings.TrimSpace(line), " | ", 4)
				if len(fields) != 4 {
					t.Fatalf("line %q", line)
				}
				for i := range fields {
					fields[i] = strings.TrimSpace(fields[i])
				}
				count++
				act := action(t, strings.ReplaceAll(fields[3], "ROOT", root))
				v := b.Explain(act)
				if string(v.Effect) != fields[0] || v.Rule != fields[1] || v.Layer != fields[2] {
					t.Errorf("%s: %+v\nwant %s by %q in %q", fields[3], v, fields[0], fields[1], fields[2])
				}
				if v.Rule != "" && v.Layer == "" {
					t.Errorf("%s: a rule without its layer: %+v", fields[3], v)
				}
			}
		})
	}
	if count < 150 {
		t.Errorf("the table has %d lines", count)
	}
}

var verdicts = []struct{ name, rules, table string }{
	{"standard", ``, `
		allow |       |         | read main.go
		allow |       |         | read .
		allow |       |         | read src/deep/b.go
		allow |       |         | read .git/config
		allow |       |         | read .tillerman.toml
		ask   |       |         | write main.go
		ask   |       |         | write new/dir/file
		ask   |       |         | write .github/workflows/ci.yml
		ask   |       |         | write .gitignore
		ask   |       |         | exec go test ./...
		ask   |       |         | tool mcp__x__y
		deny  |       |         | net example.com:443
		deny  | .env  | builtin | read .env
		deny  | .env  | builtin | write .env
		deny  | .env  | builtin | read ./src/../.env
		deny  | .env  | builtin | read deep/er/.env
		deny  | .env  | builtin | read .env/lib/python/site.py
		deny  | .env.* | builtin | read .env.local
		deny  | *.pem | builtin | read certs/site.pem
		deny  | *.key | builtin | write certs/site.key
		deny  | id_rsa | builtin | read id_rsa
		deny  | id_ed25519 | builtin | read keys/id_ed25519
		deny  | .netrc | builtin | write .netrc
		deny  | .npmrc | builtin | read .npmrc
		deny  | .pypirc | builtin | read home/.pypirc
		deny  | .git-credentials | builtin | read .git-credentials
		deny  | **/.aws/credentials | builtin | read .aws/credentials
		deny  | **/.aws/credentials | builtin | read home/me/.aws/credentials
		deny  | **/.config/gcloud | builtin | read .config/gcloud/credentials.db
		deny  | .azure | builtin | read .azure/accessTokens.json
		deny  | **/.kube/config | builtin | read .kube/config
		deny  | **/.docker/config.json | builtin | read .docker/config.json
		deny  | .ssh  | builtin | write .ssh/authorized_keys
		deny  | .git  | builtin | write .git/hooks/pre-commit
		deny  | .git  | builtin | write .git/config
		deny  | .git  | builtin | write .git/config.worktree
		deny  | .git  | builtin | write .git/modules/a/b/config
		deny  | .git  | builtin | write .git/info/attributes
		deny  | .git  | builtin | write sub/.git/hooks/post-checkout
		deny  | .git  | builtin | write .git
		deny  | .tillerman.toml | builtin | write .tillerman.toml
		deny  |       | workspace | read /etc/passwd
		deny  |       | workspace | read ../x
		deny  |       | workspace | read src/../../x
		deny  |       | workspace | write ~/x
		deny  |       | workspace | write ~
		allow |       |         | read ~x
		allow |       |         | read ROOT/main.go
		ask   |       |         | write ROOT/main.go
		deny  | .env  | builtin | read ROOT/.env
		deny  |       | workspace | read ROOTx/main.go`},
	{"deny before ask before allow before default", `
		allow write src/**
		ask write src/gate.go
		deny write src/never.go
		allow read *
		layer later
		allow write src/never.go
		allow write src/gate.go
		deny read src/hidden`, `
		allow | src/** | team | write src/a.go
		allow | src/** | team | write src/deep/new.go
		ask   | src/gate.go | team | write src/gate.go
		deny  | src/never.go | team | write src/never.go
		ask   |   |   | write other.go
		allow | * | team | read src/a.go
		deny  | src/hidden | later | read src/hidden
		deny  | src/hidden | later | read src/hidden/deep/x
		allow | * | team | read src/hidden.go`},
	{"patterns of paths", `
		allow write *.md|docs/|./only.txt|pages/[id].ts|a\*b|{x,y}/z|deep/**/leaf|q?.c
		deny read **/secret.txt|vault|tmp/*|Z[0-9].dat`, `
		allow | *.md | team | write README.md
		allow | *.md | team | write src/deep/NOTES.md
		allow | docs/ | team | write docs/a/b
		allow | docs/ | team | write docs
		ask   |  |  | write documents/a
		allow | ./only.txt | team | write only.txt
		ask   |  |  | write sub/only.txt
		allow | pages/[id].ts | team | write pages/[id].ts
		allow | pages/[id].ts | team | write pages/i.ts
		ask   |  |  | write pages/x.ts
		allow | a\*b | team | write a*b
		ask   |  |  | write aXb
		allow | {x,y}/z | team | write y/z
		ask   |  |  | write w/z
		allow | deep/**/leaf | team | write deep/leaf
		allow | deep/**/leaf | team | write deep/a/b/leaf
		allow | q?.c | team | write q1.c
		ask   |  |  | write q12.c
		deny  | **/secret.txt | team | read secret.txt
		deny  | **/secret.txt | team | read a/b/secret.txt
		deny  | vault | team | read vault
		deny  | vault | team | read vault/a
		deny  | vault | team | read src/vault/a
		allow |  |  | read vaults/a
		deny  | tmp/* | team | read tmp/x
		deny  | tmp/* | team | read tmp/x/y
		allow |  |  | read tmp
		deny  | Z[0-9].dat | team | read Z1.dat
		allow |  |  | read z1.dat`},
	{"allowed commands", `
		allow exec go test *
		allow exec git status
		allow exec ls
		allow exec ./build.sh *
		allow exec /opt/tool/run x
		allow exec grep * src`, `
		allow | go test * | team | exec go test
		allow | go test * | team | exec go test ./...
		allow | go test * | team | exec go test -run TestX -count=1 ./src
		ask   |  |  | exec go vet ./...
		ask   |  |  | exec go
		ask   |  |  | exec gopls test
		allow | git status | team | exec git status
		ask   |  |  | exec git status -s
		ask   |  |  | exec git stash
		ask   |  |  | exec git -C x status
		ask   |  |  | exec missing-program
		ask   |  |  | exec ./go test
		ask   |  |  | exec /tmp/x/go test
		allow | go test * | team | exec /nonexistent/bin/go test
		ask   |  |  | exec ROOT/go test
		allow | ./build.sh * | team | exec ./build.sh fast
		allow | ./build.sh * | team | exec src/../build.sh
		allow | ./build.sh * | team | exec ROOT/build.sh
		ask   |  |  | exec ./src/build.sh
		ask   |  |  | exec build.sh
		allow | /opt/tool/run x | team | exec /opt/tool/run x
		ask   |  |  | exec /opt/other/run x
		allow | grep * src | team | exec grep word src
		ask   |  |  | exec grep -r word src
		ask   |  |  | exec sh -c ls
		ask   |  |  | sh ls`},
	{"stopped commands", `
		default exec allow
		deny exec git push *
		deny exec rm -rf *
		ask exec kill *
		deny exec curl
		deny exec npm publish
		ask exec docker run --privileged *
		deny exec git * --hard`, `
		allow |  |  | exec git status
		deny  | git push * | team | exec git push
		deny  | git push * | team | exec git push origin main
		deny  | git push * | team | exec git -C x push
		deny  | git push * | team | exec /usr/bin/git push
		deny  | git push * | team | exec ./git push
		allow |  |  | exec gitk push
		allow |  |  | exec echo git push
		deny  | git * --hard | team | exec git reset --hard HEAD
		deny  | git * --hard | team | exec git reset HEAD --hard
		deny  | rm -rf * | team | exec rm -rf d
		deny  | rm -rf * | team | exec rm -fr d
		deny  | rm -rf * | team | exec rm -r -f d
		deny  | rm -rf * | team | exec rm --recursive --force d
		deny  | rm -rf * | team | exec rm --rec --for d
		deny  | rm -rf * | team | exec rm -Rvf d
		deny  | rm -rf * | team | exec rm d -rf
		allow |  |  | exec rm -r d
		allow |  |  | exec rm d
		ask   | kill * | team | exec kill
		ask   | kill * | team | exec kill -9 1
		deny  | curl | team | exec curl https://x.example
		deny  | npm publish | team | exec npm --tag x publish .
		ask   | docker run --privileged * | team | exec docker run -it --privileged img
		allow |  |  | exec docker run img
		deny  | rm -rf * | team | sh rm -rf d
		deny  | rm -rf * | team | sh true && (cd x; rm -rf d)
		deny  | rm -rf * | team | sh if x; then rm -f -r d; fi
		deny  | rm -rf * | team | sh f() { rm -rf d; }; f
		deny  | rm -rf * | team | sh echo $(rm -rf d)
		deny  | rm -rf * | team | sh 'r'm "-rf" d
		deny  | rm -rf * | team | sh r\m -rf d
		deny  | rm -rf * | team | sh {rm,-rf,d}
		deny  | rm -rf * | team | sh rm -rf
		deny  | rm -rf * | team | exec bash -lc rm$IFS-rf; -- rm -rf
		deny  | rm -rf * | team | exec env rm -rf d
		deny  | rm -rf * | team | exec env -i A=1 rm -rf d
		deny  | rm -rf * | team | exec timeout -s KILL 5 rm -rf d
		deny  | rm -rf * | team | exec nice -n 5 nohup setsid rm -rf d
		deny  | rm -rf * | team | exec xargs -0 -n 1 rm -rf
		deny  | rm -rf * | team | exec sudo -u root rm -rf d
		deny  | rm -rf * | team | exec find . -name x -exec rm -rf {} ;
		deny  | rm -rf * | team | exec find . -type d -execdir rm -r -f {} +
		deny  | rm -rf * | team | exec find . -exec rm + -rf {} ;
		deny  | rm -rf * | team | exec find . -exec ls {} + -exec rm -rf {} +
		deny  | rm -rf * | team | exec busybox rm -rf d
		deny  | rm -rf * | team | exec busybox env rm -rf d
		deny  | rm -rf * | team | exec ssh host rm -rf d
		deny  | rm -rf * | team | exec strace -f rm -rf d
		deny  | rm -rf * | team | exec docker exec c rm -rf /
		deny  | rm -rf * | team | exec npx rm -rf d
		deny  | git push * | team | exec git -c alias.p=push p
		deny  | curl | team | sh echo a | xargs curl
		deny  | curl | team | sh eval "curl x"
		deny  | curl | team | sh trap 'curl x' EXIT
		deny  | curl | team | sh bash <<<x; sh -c 'sh -c "curl x"'
		ask   | kill * | team | sh kill $PID
		ask   | kill * | team | sh while true; do kill 1; done
		ask   |  | command | sh $X 1
		ask   |  | command | sh # nothing
		ask   |  | command | sh for f in $LIST; do ls; done
		ask   |  | command | sh [[ $X ]] && ls
		ask   |  | command | sh case $X in a) ls;; esac
		ask   |  | command | sh A=1 ls
		ask   |  | command | sh cat <<< "$X"
		ask   |  | command | sh ls *.go
		ask   |  | command | sh ls ~
		ask   |  | command | exec env A=1 ls
		deny  | rm -rf * | team | exec env --split-string=rm -rf d
		deny  | rm -rf * | team | exec env --unknown x rm -rf d
		deny  | rm -rf * | team | sh test -v 'a[$(rm -rf d)]'
		deny  | rm -rf * | team | sh repeat 3 rm -rf d
		ask   |  | command | sh echo 'unclosed
		ask   |  | command | exec sh
		ask   |  | command | exec sh script.sh
		ask   |  | command | exec python3 -c print(1)
		allow |  |  | sh echo hi; ls
		allow |  |  | exec env
		allow |  |  | exec timeout 5 go test
		allow |  |  | exec python3 x.py`},
	{"the strictest part decides", `
		deny exec rm *
		ask exec kill *
		allow exec ls *
		allow exec sh *
		allow write *`, `
		deny  | rm * | team | sh rm d; ls; kill 1; pwd
		deny  | rm * | team | sh ls; kill 1; pwd; rm d
		ask   | kill * | team | sh pwd; kill 1; ls
		ask   | kill * | team | sh kill 1; pwd
		ask   |  |  | sh ls; pwd
		ask   |  |  | sh pwd; ls
		ask   |  | command | sh ls > out`},
	{"redirections", `
		default exec allow
		deny write secret/**
		ask read private
		allow write out.txt`, `
		deny  | secret/** | team | sh echo x > secret/a
		deny  | secret/** | team | sh echo x >> secret/a
		deny  | secret/** | team | sh echo x >| secret/a
		deny  | secret/** | team | sh echo x &> secret/a
		deny  | secret/** | team | sh >secret/a
		deny  | .env | builtin | sh cat < .env
		deny  | .git | builtin | sh echo x > .git/hooks/pre-commit
		ask   | private | team | sh cat < private/x
		deny  |  | workspace | sh echo x > ../x
		deny  |  | workspace | sh echo x > /etc/x
		deny  |  | workspace | sh echo x > /dev/tcp/h/80
		ask   |  |  | sh echo x > other.txt
		allow |  |  | sh echo x > out.txt
		allow |  |  | sh echo x > /dev/null 2>&1
		ask   |  | command | sh echo x > $F
		ask   |  | command | sh cd secret && echo x > out.txt
		ask   |  | command | exec env -C secret sh -c >out.txt`},
	{"hosts", `
		allow net api.example.com
		allow net *.cdn.example.com:443
		deny net evil.cdn.example.com
		ask net 10.0.0.1:8080
		allow net [::1]:9000
		allow net bücher.example`, `
		allow | api.example.com | team | net api.example.com
		allow | api.example.com | team | net api.example.com:443
		allow | api.example.com | team | net API.Example.COM.:8443
		deny  |  |  | net example.com
		deny  |  |  | net xapi.example.com
		deny  |  |  | net api.example.com.evil.example
		allow | *.cdn.example.com:443 | team | net a.b.cdn.example.com:443
		allow | *.cdn.example.com:443 | team | net a.cdn.example.com
		deny  |  |  | net a.cdn.example.com:80
		deny  |  |  | net cdn.example.com:443
		deny  | evil.cdn.example.com | team | net evil.cdn.example.com:443
		ask   | 10.0.0.1:8080 | team | net 10.0.0.1:8080
		ask   | 10.0.0.1:8080 | team | net [::ffff:10.0.0.1]:8080
		deny  |  |  | net 10.0.0.1
		allow | [::1]:9000 | team | net [0:0:0:0:0:0:0:1]:9000
		deny  |  |  | net [::2]:9000
		allow | bücher.example | team | net xn--bcher-kva.example
		allow | bücher.example | team | net BÜCHER.example:443
		deny  |  | host | net a b
		deny  |  | host | net user@api.example.com
		deny  |  | host | net api.example.com/x
		deny  |  | host | net https://api.example.com
		deny  |  | host | net api.example.com:0
		deny  |  | host | net api.example.com:99999
		deny  |  | host | net 0x7f.1
		deny  |  | host | net 2130706433
		deny  |  | host | net 127.0.0.01`},
	{"tools", `
		allow exec mcp__docs__*
		deny exec mcp__docs__delete
		ask exec mcp__mail__send`, `
		allow | mcp__docs__* | team | tool mcp__docs__read
		deny  | mcp__docs__delete | team | tool mcp__docs__delete
		ask   | mcp__mail__send | team | tool mcp__mail__send
		ask   |  |  | tool mcp__mail__read
		ask   |  |  | tool sh`},
	{"an allow that is not enough", `
		allow exec *`, `
		allow | * | team | exec go build ./...
		allow | * | team | exec ./build.sh
		allow | * | team | exec python3 tool.py
		allow | * | team | exec find . -name x
		allow | * | team | exec make test
		allow | * | team | exec git log -p
		allow | * | team | exec uv run pytest
		allow | * | team | exec sed -n 1,5p main.go
		ask   |  | command | exec sh -c
		ask   |  | command | exec bash build.sh
		ask   |  | command | exec env
		ask   |  | command | exec xargs ls
		ask   |  | command | exec find . -delete
		ask   |  | command | exec find . -exec ls ;
		ask   |  | command | exec make SHELL=/bin/x test
		ask   |  | command | exec make --eval=x
		ask   |  | command | exec git -p log
		ask   |  | command | exec git log --outp=x
		ask   |  | command | exec git grep -O x
		ask   |  | command | exec git submodule foreach ls
		ask   |  | command | exec git clone ext::x
		ask   |  | command | exec sudo ls
		ask   |  | command | exec time ls
		ask   |  | command | exec ssh host
		ask   |  | command | exec perl -ne print
		ask   |  | command | exec ruby -rjson -e x
		ask   |  | command | exec node --eval x
		ask   |  | command | exec python3
		ask   |  | command | exec awk {print}
		ask   |  | command | exec sed 1e touch
		ask   |  | command | exec sed -e p -ne 1e x
		ask   |  | command | exec sed --exp=1e x
		ask   |  | command | exec sed --expression 1w x
		ask   |  | command | exec sed -nf x
		ask   |  | command | exec sed s/a/b/e x
		allow | * | team | exec sed -i -E s/a/b/g main.go
		allow | * | team | exec sed -n -e 1p -e 5q main.go
		ask   |  | command | exec go test -exec x
		ask   |  | command | exec tar cIf x y
		ask   |  | command | exec tar --to-com=x -xf y
		ask   |  | command | exec rsync -ave x y
		ask   |  | command | exec fd -x ls
		ask   |  | command | exec /nonexistent/tillerman run
		ask   |  | command | exec ls /tmp
		ask   |  | command | exec ls --dir=/tmp
		ask   |  | command | exec cc -I/usr/include x.c
		ask   |  | command | exec curl -d @/etc/passwd x
		ask   |  | command | exec cat ~/x
		ask   |  | command | exec cat $HOME/x
		ask   |  | command | exec cat ../x
		ask   |  | command | exec cat .env
		ask   |  | command | exec cat certs/site.pem
		ask   |  | command | exec git show HEAD:.env
		ask   |  | command | exec cp x .git/hooks/pre-commit
		allow | * | team | exec cat main.go
		allow | * | team | exec cat ROOT/main.go
		allow | * | team | exec go build -o /dev/null ./...
		allow | * | team | exec git diff HEAD~1..HEAD~2
		allow | * | team | exec curl https://x.example/y`},
	{"nothing is allowed", `
		default exec deny
		default read deny
		default write deny
		allow exec ls *
		allow read *.go`, `
		allow | ls * | team | exec ls -l
		deny  |  |  | exec pwd
		deny  |  |  | sh ls
		allow | *.go | team | read main.go
		deny  |  |  | read README.md
		deny  |  |  | write main.go
		deny  |  | command | exec `},
}
