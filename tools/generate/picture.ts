// Makes docs/page.png: the overview of the gateway at the given address, as `npm run demo` left it.
//   npx precedent -c deploy/demo.yaml up
//   npm run picture
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startBrowser } from "../../test/support/browser.ts";

const address = process.argv[2] ?? "http://127.0.0.1:7717/";
const file = join(fileURLToPath(new URL("../..", import.meta.url)), "docs", "page.png");
const browser = await startBrowser();
if (typeof browser === "string") throw new Error(browser);
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 860 }, locale: "en-US" });
  await page.goto(address, { waitUntil: "networkidle" });
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
