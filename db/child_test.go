package db
import ("context";"bufio")
func childOpen(ctx context.Context, in *bufio.Scanner, args []string) error {return nil}
var childHold,childLook,childDrive,childTakeUp,childDecide,childControl,childWatch,childAudit=childOpen,childOpen,childOpen,childOpen,childOpen,childOpen,childOpen,childOpen
