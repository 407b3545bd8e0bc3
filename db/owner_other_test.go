//go:build !linux

package db

import "errors"

func waitZombie(int) error { return errors.New("waiting without reaping is only done on Linux") }
