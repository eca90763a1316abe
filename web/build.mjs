// Bundles the entry points for browsers: `node build.mjs FOLDER`. Needs `npm ci`.
//
// Each entry keeps its name, so that a page can refer to it. Code that the page's entries share, and code that they
// import on demand, is in `chunks/` under names that contain their hash. The tools are one file, which can be copied.
// The files of `public/` are copied.
import { cp, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const PAGE = { app: "src/app.ts", chat: "src/chat.ts" };
const TOOLS = { "ag-ui-agent": "src/tools/script.ts" };
const TARGETS = ["chrome111", "firefox114", "safari16.4"];

/**
 * Lets esbuild drop the parts of Zod that `@ag-ui/client` does not use: 110 KB of 190 KB, gzipped.
 *
 * The packages import Zod as one object (`import { z }`), which esbuild keeps whole, with the messages of all
 * languages. As a namespace (`import * as z`) it is the same object, and esbuild keeps only what is used of it.
 *
 * @type {esbuild.Plugin}
 */
const zodAsNamespace = {
  name: "zod-as-namespace",
  setup(build) {
    build.onLoad({ filter: /@ag-ui[\\/](client|core)[\\/]dist[\\/](index|schemas)\.mjs$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const contents = source.replace(
        /import\s*\{\s*z(?:\s+as\s+(\w+))?\s*\}\s*from\s*"zod\/v4"/,
        (_, name = "z") => `import * as ${name} from "zod"`,
      );
      if (/from\s*"zod\/v4"/.test(contents)) throw new Error(`${path} imports Zod in a form that is not known`);
      return { contents, loader: "js" };
    });
  },
};

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder to write to");
await rm(folder, { recursive: true, force: true });
for (const entryPoints of [PAGE, TOOLS]) {
  await esbuild.build({
    absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
    entryPoints,
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    target: TARGETS,
    minify: true,
    chunkNames: "chunks/[name]-[hash]",
    legalComments: "none",
    logLevel: "warning",
    plugins: [zodAsNamespace],
  });
}
await cp(new URL("public", import.meta.url), folder, { recursive: true });
