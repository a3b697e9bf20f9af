// The benchmark's commands by go-redis: SOCKET COUNT PIPELINED GET|SET|SUB.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

const (
	key   = "bench:key"
	value = "value-of-31-octets-01234567890."
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pipelined(ctx context.Context, client *redis.Client, count, size int, isGet bool) int {
	total := 0
	for done := 0; done < count; done += size {
		pipe := client.Pipeline()
		for index := 0; index < size; index++ {
			if isGet {
				pipe.Get(ctx, key)
			} else {
				pipe.Set(ctx, key, value, 0)
			}
		}
		replies, err := pipe.Exec(ctx)
		check(err)
		total += len(replies)
	}
	return total
}

func single(ctx context.Context, client *redis.Client, count int, isGet bool) int {
	total := 0
	for index := 0; index < count; index++ {
		if isGet {
			text, err := client.Get(ctx, key).Result()
			check(err)
			total += len(text)
		} else {
			check(client.Set(ctx, key, value, 0).Err())
			total++
		}
	}
	return total
}

func listen(ctx context.Context, client *redis.Client, count int) int {
	subscriber := client.Subscribe(ctx, "bench:channel")
	total := 0
	for index := 0; index < count; index++ {
		message, err := subscriber.ReceiveMessage(ctx)
		check(err)
		total += len(message.Payload)
	}
	return total
}

func main() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: os.Args[1]})
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	size, err := strconv.Atoi(os.Args[3])
	check(err)
	what := os.Args[4]
	switch {
	case what == "SUB":
		fmt.Println(listen(ctx, client, count))
	case size > 1:
		fmt.Println(pipelined(ctx, client, count, size, what == "GET"))
	default:
		fmt.Println(single(ctx, client, count, what == "GET"))
	}
}
