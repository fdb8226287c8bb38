"""Copies of Arrow files: the same rows, whatever the batches and dictionaries they came in."""

import pyarrow as pa

from dpengine.sources.files.arrow_file import copy_valid, read_copy


def copied(tmp_path, batches):
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_stream(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write(batch)
    names = copy_valid(tmp_path / "t.arrow", tmp_path / "copy.arrow")
    return names, read_copy(tmp_path / "copy.arrow").to_pydict()


def test_batches_may_have_dictionaries_of_their_own(tmp_path):
    batches = [pa.record_batch({"s": pa.array(texts).dictionary_encode()}) for texts in (["x", "y"], ["z", "x"], [])]
    batches[2] = batches[2].cast(batches[0].schema)
    assert copied(tmp_path, batches) == (["s"], {"c0": ["x", "y", "z", "x"]})


def test_times_are_copied_as_they_are_read(tmp_path):
    batch = pa.record_batch({"at": pa.array([0, 2**62], pa.timestamp("ms"))})
    names, rows = copied(tmp_path, [batch.slice(0, 1)])
    assert (names, [str(at) for at in rows["c0"]]) == (["at"], ["1970-01-01 00:00:00"])


def test_a_copy_outlives_its_file_and_its_source(tmp_path):
    batch = pa.record_batch({"n": list(range(1000))})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write(batch)
    copy_valid(tmp_path / "t.arrow", tmp_path / "copy.arrow")
    rows = read_copy(tmp_path / "copy.arrow")
    (tmp_path / "t.arrow").write_bytes(b"")
    (tmp_path / "copy.arrow").unlink()
    assert rows.column("c0").to_pylist() == list(range(1000))
