package core_test

import (
	"os"
	"testing"

	"tillerman/core/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 1 && os.Args[1] == crashArg {
		os.Exit(crashing(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == decideArg {
		os.Exit(deciding(os.Args[2]))
	}
	os.Exit(m.Run())
}
