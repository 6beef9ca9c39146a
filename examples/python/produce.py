#!/usr/bin/env python3
"""Sends a project's events, one a line as JSON (schemas/README.md), to a Cobblestone deployment on Kafka.

    produce.py CLIENT.PROPERTIES [PREFIX] < events.jsonl

CLIENT.PROPERTIES has lines NAME=VALUE as librdkafka knows them: bootstrap.servers at least. Exit code 0 means that all
events are durable. After anything else send all of them again: an event's id makes it count once.
"""
import sys

from confluent_kafka import Producer
from google.protobuf import json_format
from schemas import events_pb2  # made by protoc, README.md

TOPICS = {"completion": "completions", "validation": "validations", "dispatch": "dispatches", "trickle": "trickles"}


def partition_of(project, host, partitions):
    """Where all events of a host lie, for ever: the partitioner of schemas/README.md, not Kafka's."""
    z = host + project * 0x9E3779B97F4A7C15 & 2**64 - 1
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & 2**64 - 1
    z = (z ^ z >> 27) * 0x94D049BB133111EB & 2**64 - 1
    return ((z ^ z >> 31) >> 32) * partitions >> 32


def main(properties, prefix="cobblestone"):
    with open(properties) as file:
        options = dict(line.strip().split("=", 1) for line in file if "=" in line)
    producer = Producer({**options, "enable.idempotence": True})  # acks=all, and no message twice or out of order
    topics = producer.list_topics(timeout=30).topics
    failed = []
    for number, line in enumerate(sys.stdin, 1):
        envelope = json_format.Parse(line, events_pb2.Envelope())
        kind = envelope.WhichOneof("event")
        if kind == "tick":  # says to all that time has come this far
            topic, partition, key = f"{prefix}.catalogue", 0, "tick"
        elif kind in TOPICS:
            topic, key = f"{prefix}.{TOPICS[kind]}", str(getattr(envelope, kind).host)
            partition = partition_of(envelope.project, int(key), len(topics[topic].partitions))
        else:
            sys.exit(f"line {number} is no event of a result: `cobblestone ingest` takes the catalogue and members in")
        while True:
            try:
                # Key and headers are for people and their tools: Cobblestone reads the value alone.
                producer.produce(topic, envelope.SerializeToString(), key, partition, headers={"line": str(number)},
                                 on_delivery=lambda error, _: error and failed.append(error))
                break
            except BufferError:  # the queue is full
                producer.poll(1)
        producer.poll(0)
    if producer.flush() > 0 or failed:
        sys.exit(f"{len(failed)} events were not taken, the first because of {failed[:1]}; send all of them again")


if __name__ == "__main__":
    main(*sys.argv[1:])
