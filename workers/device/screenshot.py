"""Screenshots, passed on as the phone made them: nothing is decoded, and nothing stands in for one that failed."""

from workers.device.command_line import command
from workers.device.outcome import ErrorCode, Failed
from workers.device.shell import Shell
from workers.device.verdict import short

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"IEND\xaeB`\x82"

#: A 4K screen of noise is 33 MB as PNG.
_MAX_SCREENSHOT_BYTES = 64 * 1024 * 1024
_DEADLINE_SECONDS = 20.0


def take_screenshot_png(shell: Shell) -> bytes | Failed:
    answer = shell.ask(
        command("screencap", "-p"), deadline_seconds=_DEADLINE_SECONDS, max_output_bytes=_MAX_SCREENSHOT_BYTES
    )
    if isinstance(answer, Failed):
        return answer
    return png_in(answer.stdout)


def png_in(output: bytes) -> bytes | Failed:
    """The picture alone: phones with several displays print a warning before it."""
    start = output.find(_PNG_SIGNATURE)
    if start < 0:
        said = short(output[:1000].decode(errors="replace"))
        return Failed(ErrorCode.SCREENSHOT_UNAVAILABLE, f"the phone sent no picture: {said or 'nothing at all'}")
    end = output.rfind(_PNG_END)
    if end < start:
        return Failed(ErrorCode.SCREENSHOT_UNAVAILABLE, f"the picture was cut short after {len(output) - start} bytes")
    return output[start : end + len(_PNG_END)]
