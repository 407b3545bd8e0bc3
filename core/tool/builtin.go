package tool

import "slices"

// Builtin gives the built-in tools, in the order in which Specs lists them.
func Builtin() []Tool {
	return []Tool{grepTool{}, findTool{}, listTool{}, readTool{}, writeTool{}, editTool{}, execTool{}, fetchTool{}, askTool{}}
}

// builtin marks the tools of this package. Nobody else can implement it, so a registered tool cannot pass for one.
type builtin interface{ builtin() }

// supervised marks tools whose processes the supervisor can end, because they run everything through the Runner.
type supervised interface{ supervised() }

// reserved are names that only tools of the program's own may have, whether or not a toolbox holds them.
func reserved(name string) bool {
	switch name {
	case "ask_operator", "remember", "read_skill", "spawn_agent":
		return true
	}
	return slices.ContainsFunc(Builtin(), func(t Tool) bool { return t.Spec().Name == name })
}
