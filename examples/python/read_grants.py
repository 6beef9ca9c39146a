#!/usr/bin/env python3
"""Prints the ledger of a Cobblestone deployment on Kafka, one award a line as JSON, up to where it ends now.

    read_grants.py CLIENT.PROPERTIES [PREFIX]
"""
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from google.protobuf import json_format
from schemas import internal_pb2  # made by protoc, README.md


def records(message):
    """What slots write for each other and for readers: many records a message, each behind its length."""
    at = 0
    while at < len(message):
        length = shift = 0
        while True:
            byte = message[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield message[at:at + length]
        at += length


def main(properties, prefix="cobblestone"):
    with open(properties) as file:
        options = dict(line.strip().split("=", 1) for line in file if "=" in line)
    # read_committed: what a worker gave up is in the log, too, and counts for nobody.
    consumer = Consumer({**options, "group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True,
                         "isolation.level": "read_committed"})
    topic = f"{prefix}.grants"
    partitions = consumer.list_topics(timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    ended = set()
    while len(ended) < len(partitions):
        message = consumer.poll(30)
        if message is None:
            sys.exit("the cluster does not answer")
        if message.error():
            if message.error().code() != KafkaError._PARTITION_EOF:
                sys.exit(f"cannot read {topic}: {message.error()}")
            ended.add(message.partition())
            continue
        for record in records(message.value()):
            grant = internal_pb2.Grant.FromString(record)
            if grant.kind in (internal_pb2.GRANT_KIND_FINAL, internal_pb2.GRANT_KIND_OPENING):  # others award nothing
                print(json_format.MessageToJson(grant, preserving_proto_field_name=True, indent=None))


if __name__ == "__main__":
    main(*sys.argv[1:])
