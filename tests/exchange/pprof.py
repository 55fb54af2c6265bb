# SPDX-License-Identifier: MIT
"""Reads perftools.profiles.Profile (github.com/google/pprof, proto/profile.proto), enough of it."""
import gzip


def fields(data):
    """(number, value) of a message: an int, or the bytes of a length-delimited field."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {key & 7}")


def packed(value):
    if isinstance(value, int):
        return [value]
    numbers, number, shift = [], 0, 0
    for byte in value:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    return numbers


def read(path):
    with gzip.open(path) as file:
        top = list(fields(file.read()))
    strings = [value.decode() for number, value in top if number == 6]
    one = lambda message: dict(fields(message))
    profile = {
        "types": [(strings[t.get(1, 0)], strings[t.get(2, 0)])
                  for t in (one(value) for number, value in top if number == 1)],
        "default": next((strings[value] for number, value in top if number == 14), ""),
        "period": next((value for number, value in top if number == 12), 0),
        "mappings": {}, "locations": {}, "functions": {}, "samples": [],
    }
    for number, value in top:
        if number == 3:
            m = one(value)
            profile["mappings"][m[1]] = {
                "start": m.get(2, 0), "limit": m.get(3, 0), "offset": m.get(4, 0),
                "file": strings[m.get(5, 0)], "build_id": strings[m.get(6, 0)],
                "flags": [m.get(i, 0) for i in range(7, 11)]}
        elif number == 4:
            location = {"mapping": 0, "address": 0, "functions": [], "lines": []}
            for n, v in fields(value):
                if n == 1:
                    key = v
                elif n == 2:
                    location["mapping"] = v
                elif n == 3:
                    location["address"] = v
                elif n == 4:
                    line = one(v)
                    location["functions"].append(line[1])
                    location["lines"].append(line.get(2, 0))
            profile["locations"][key] = location
        elif number == 5:
            f = one(value)
            profile["functions"][f[1]] = strings[f.get(2, 0)]
        elif number == 2:
            sample = {"locations": [], "values": []}
            for n, v in fields(value):
                if n in (1, 2):
                    sample["locations" if n == 1 else "values"] += packed(v)
            profile["samples"].append(sample)
    return profile
