"""Commands and header keys of Maestro that are not built: refused by name, so that nobody looks for a typo."""

_JAVASCRIPT = "JavaScript is not evaluated"
_AI = "a flow asks no model; submit a task of kind `goal` for that"
_CLIPBOARD = "the clipboard is not read or written"
_SETTINGS = "settings of the phone are not changed by flows"
_FILES = "flows do not put files on the phone"
_RECORDING = "video is not recorded; use `takeScreenshot`"
_RANDOM = "use `inputRandomText`, `inputRandomNumber`, `inputRandomEmail` or `inputRandomPersonName`"

UNSUPPORTED_COMMANDS: dict[str, str] = {
    "action": "use `back`, `hideKeyboard` or `scroll` by its own name",
    "addMedia": _FILES,
    "assertCondition": "use `assertVisible`, `assertNotVisible` or `extendedWaitUntil`",
    "assertDarkMode": _SETTINGS,
    "assertLightMode": _SETTINGS,
    "assertNoDefectsWithAI": _AI,
    "assertOutgoingRequests": "the network is not watched",
    "assertScreenshot": "screenshots are not compared",
    "assertTrue": _JAVASCRIPT,
    "assertVisual": "screenshots are not compared",
    "assertVisualAI": _AI,
    "assertWithAI": _AI,
    "clearKeychain": "Android has no keychain; use `launchApp` with `clearState: true`",
    "clearState": "use `launchApp` with `clearState: true`",
    "copyTextFrom": _CLIPBOARD,
    "defineVariables": "use `env` in the header or in `runFlow`",
    "drag": "use `swipe`",
    "evalScript": _JAVASCRIPT,
    "extractComponentWithAI": _AI,
    "extractPointWithAI": _AI,
    "extractTextWithAI": _AI,
    "inputRandomCityName": _RANDOM,
    "inputRandomColorName": _RANDOM,
    "inputRandomCountryName": _RANDOM,
    "installApp": _FILES,
    "mockNetwork": "the network is not changed",
    "openBrowser": "links are not opened",
    "openLink": "links are not opened",
    "pasteText": _CLIPBOARD,
    "runScript": _JAVASCRIPT,
    "sendBroadcast": "flows have no shell",
    "runShellCommand": "flows have no shell",
    "setAirplaneMode": _SETTINGS,
    "setClipboard": _CLIPBOARD,
    "setDarkMode": _SETTINGS,
    "setLocation": _SETTINGS,
    "setOrientation": _SETTINGS,
    "setPermissions": "permissions are not changed",
    "shake": _SETTINGS,
    "sleep": "use `extendedWaitUntil` or `waitForAnimationToEnd`",
    "startRecording": _RECORDING,
    "stopRecording": _RECORDING,
    "toggleAirplaneMode": _SETTINGS,
    "toggleDarkMode": _SETTINGS,
    "travel": _SETTINGS,
}

_HOOKS = "hooks are not built; write the commands into the flow"

UNSUPPORTED_HEADER_KEYS: dict[str, str] = {
    "androidWebViewHierarchy": "web views are not looked into",
    "ext": "extensions of Maestro are not built",
    "initFlow": _HOOKS,
    "jsEngine": _JAVASCRIPT,
    "onFlowComplete": _HOOKS,
    "onFlowStart": _HOOKS,
    "platform": "every device here is Android",
    "properties": "test reports are not written",
    "url": "web pages are not tested; name an `appId`",
}
