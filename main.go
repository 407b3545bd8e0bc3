// Command tillerman runs an AI agent on a task inside a boundary that its owner sets.
package main

import (
	"context"
	"os"

	"tillerman/cli"
	"tillerman/core/sandbox"
)

func main() {
	sandbox.Main() // first: this process may be a supervisor
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.System()))
}
