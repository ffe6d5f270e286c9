// Type-aware TypeScript rules, and which module may import what (tools/lint/import-rules.mjs).
import { defineConfig } from "eslint/config";
import prettier from "eslint-config-prettier";
import regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";
import { importRules } from "./tools/lint/lint-imports.mjs";

export default defineConfig(
  {
    ignores: [
      "node_modules/",
      ".precedent/",
      "coverage/",
      "native/**/build/",
      "build/",
      "**/*.mjs",
      "schemas/types.ts",
      "tools/stand-ins/",
    ],
  },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked, prettier],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { regexp },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      // Numbers and booleans in messages are what they look like.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // `void promise` marks what is not awaited on purpose; arrow functions may end in a call that
      // returns nothing.
      "@typescript-eslint/no-confusing-void-expression": "off",
      "@typescript-eslint/no-invalid-void-type": "off",
      // It does not see that a closure or an await changed a flag ("stopping").
      "@typescript-eslint/no-unnecessary-condition": "off",
      // A port is asynchronous even where one implementation of it need not be.
      "@typescript-eslint/require-await": "off",
      // The result type of a query is the caller's word.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/no-empty-function": "off",
      // createX() gives objects of closures: their functions need no "this".
      "@typescript-eslint/unbound-method": "off",
      // With noUncheckedIndexedAccess, "!" is how an index is stated to be within bounds.
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unnecessary-boolean-literal-compare": "off",
      "@typescript-eslint/use-unknown-in-catch-callback-variable": "off",
      // OpenAI's newer names are unknown to most servers that speak its API.
      "@typescript-eslint/no-deprecated": "off",
      // At the edge of a driver a conversion states what must come out, whatever its types promise.
      "@typescript-eslint/no-unnecessary-type-conversion": "off",
      "@typescript-eslint/only-throw-error": ["error", { allowThrowingUnknown: true }],
      // Patterns meet texts of users: one that takes more than linear time stops a stage. What
      // these rules can't see is measured in test/faults/slow-text.test.ts.
      "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
      "regexp/no-super-linear-move": ["error", { report: "potential" }],
      // Comments wrap at 100 columns; how long code may be is Prettier's matter.
      "max-len": ["error", { code: 1_000, comments: 100, ignoreUrls: true, ignoreRegExpLiterals: true }],
      eqeqeq: "error",
      "no-console": "error",
      "prefer-const": "error",
    },
  },
  // Matchers such as expect.any() are typed as any.
  {
    files: ["**/*.test.ts", "test/**"],
    rules: { "@typescript-eslint/no-unsafe-assignment": "off", "regexp/no-super-linear-move": "off" },
  },
  // Programs of their own: what they print is their output.
  { files: ["tools/**", "bench/**", "stack/**", "docs/**", "test/**"], rules: { "no-console": "off" } },
  ...importRules,
);
