// The page: its views, the way between them, keys of the keyboard, and the form for an admin key.
import "./locale.ts";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refused, useKey } from "./api.ts";
import { Arms } from "./arms.tsx";
import { Boundary, OtherErrors } from "./boundary.tsx";
import { Batches } from "./batches.tsx";
import { armColour } from "./colours.ts";
import { Compare } from "./compare.tsx";
import { Examples } from "./examples.tsx";
import { Health } from "./health.tsx";
import { linkTo, useData, useRoute, useTheme, type Route } from "./hooks.ts";
import { Shortcuts, useKeyboard } from "./keyboard.tsx";
import { Keys } from "./keys.tsx";
import { Letters } from "./letters.tsx";
import { Overview } from "./overview.tsx";
import { Problem } from "./parts.tsx";
import { Policies } from "./policies.tsx";
import { Explain } from "./request/request.tsx";
import type { Names } from "../data/names.ts";
import { Requests } from "./requests.tsx";
import { Sessions } from "./sessions.tsx";
import { Values } from "./values.tsx";
import "./main.css";

/** In the order of their keys. */
const titles: Readonly<Record<string, string>> = {
  overview: "Overview",
  requests: "Requests",
  sessions: "Sessions",
  batches: "Batches",
  arms: "Arms",
  policies: "Policies",
  examples: "Examples",
  comparison: "Comparison",
  health: "Health",
  keys: "Keys",
};
const views = Object.keys(titles);
/** Views within another one. */
const parents: Readonly<Record<string, string>> = { request: "requests", compare: "requests", letters: "health" };

const none: Names = { arms: [], domains: [], tenants: [], keys: [] };

function Page() {
  const route = useRoute();
  const [theme, toggle] = useTheme();
  const [helping, setHelping] = useState(false);
  const { data: names, error, reload } = useData<Names>("names", {}, 30_000);
  for (const name of names?.arms ?? []) armColour(name);
  useKeyboard({ views, toggle, help: () => setHelping(true) });
  const title = titles[parents[route.view] ?? route.view] ?? "Request";
  useEffect(() => {
    document.title = `${title} · Precedent`;
  }, [title]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}
      >
        To the content
      </a>
      <header class="top">
        <a class="brand" href={linkTo("overview")}>
          <img src="/page/files/icon.svg" alt="" width="20" height="20" />
          Precedent
        </a>
        <nav aria-label="Views">
          {views.map((view) => (
            <a
              key={view}
              href={linkTo(view)}
              aria-current={(parents[route.view] ?? route.view) === view ? "page" : undefined}
            >
              {titles[view]}
            </a>
          ))}
        </nav>
        <button
          type="button"
          class="plain"
          title="Shortcuts (?)"
          aria-label="Shortcuts"
          onClick={() => setHelping(true)}
        >
          ?
        </button>
        <button type="button" class="plain" id="theme" title="Light or dark (t)" onClick={toggle}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 class="hidden">{title}</h1>
        <OtherErrors />
        {error instanceof Refused && error.needsKey ? (
          <KeyForm error={error} onKey={reload} />
        ) : error instanceof Refused && error.status < 429 ? (
          <Problem error={error} />
        ) : (
          <Boundary key={route.view === "request" ? route.query.toString() : route.view}>
            <View route={route} names={names ?? none} theme={theme} />
          </Boundary>
        )}
      </main>
      {helping && <Shortcuts onClose={() => setHelping(false)} />}
    </>
  );
}

function View({ route: { view, query }, names, theme }: { route: Route; names: Names; theme: string }) {
  switch (view) {
    case "request":
      return <Explain key={query.toString()} id={query.get("id") ?? ""} tenant={query.get("tenant") ?? ""} />;
    case "arms":
      return <Arms names={names} theme={theme} />;
    case "policies":
      return <Policies theme={theme} />;
    case "examples":
      return <Examples id={query.get("id") ?? ""} />;
    case "comparison":
      return <Values />;
    case "health":
      return <Health />;
    case "letters":
      return <Letters />;
    case "sessions":
      return <Sessions names={names} />;
    case "batches":
      return <Batches names={names} />;
    case "keys":
      return <Keys names={names} />;
    case "compare":
      return <Compare key={query.toString()} a={query.get("a") ?? ""} b={query.get("b") ?? ""} />;
    case "requests":
      return <Requests names={names} />;
    default:
      return <Overview names={names} theme={theme} />;
  }
}

/** Messages for people; the gateway's own tell programs which header to send. */
const keyProblems: Readonly<Record<string, string>> = {
  missing_api_key: "This page is for administrators. Enter an admin key to open it.",
  invalid_api_key: "This key is not valid: it is mistyped, has expired or was revoked. Enter another one.",
  admin_key_needed: "This is the key of a tenant. The page needs an admin key.",
};

function KeyForm({ error, onKey }: { error: Refused; onKey: () => void }) {
  const [key, setKey] = useState("");
  return (
    <form
      class="key"
      onSubmit={(event) => {
        event.preventDefault();
        useKey(key.trim() === "" ? null : key.trim());
        setKey("");
        onKey();
      }}
    >
      <h2>Admin key</h2>
      <p>{keyProblems[error.code] ?? error.message}</p>
      <label>
        <span>Key</span>
        <input type="password" autocomplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        Open
      </button>
      <p class="note">
        It stays in this tab until the tab is closed. To create one, run <code>precedent keys create --admin</code>{" "}
        where the gateway runs.
      </p>
    </form>
  );
}

const root = document.getElementById("page");
if (root !== null) {
  root.textContent = "";
  render(
    <Boundary>
      <Page />
    </Boundary>,
    root,
  );
}
