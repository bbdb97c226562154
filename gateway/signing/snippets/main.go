package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	// For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
	expires := (time.Now().Unix()/3600 + 25) * 3600
	signed, err := SignURL("{{address}}", "{{key_id}}", os.Getenv("SIGNING_SECRET"), expires)
	if err != nil {
		panic(err)
	}
	fmt.Println(signed)
}
