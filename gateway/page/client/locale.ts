// Must be imported before uPlot, which makes a number format of the browser's language when it is
// loaded. Some browsers name one that no format takes, such as en-US@posix.

/** Whether Intl accepts the locale. */
function isLocale(language: string): boolean {
  try {
    new Intl.NumberFormat(language);
    return true;
  } catch {
    return false;
  }
}

if (typeof navigator !== "undefined" && !isLocale(navigator.language))
  Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
