// Makes the files in ../static that others have written, from the versions in package-lock.json:
//
//	npm ci && npm run build
//
// What each of them contains, and by which licence, stands in licences.txt, which is made here and becomes a part of NOTICE.
import { build } from "esbuild";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const out = process.argv[2] ?? "../static";
const made = await build({
  entryPoints: ["charts.js", "editor.js"], outdir: out, bundle: true, minify: true, format: "esm", target: "es2022",
  charset: "utf8", legalComments: "none", loader: { ".css": "text" }, metafile: true,
});
copyFileSync("node_modules/@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2", out + "/figtree.woff2");

const packages = new Set(["@fontsource-variable/figtree"]);
for (const name of Object.keys(made.metafile.inputs)) {
  const found = name.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}
let text = "The files of the console that are made of the work of others, and its licences.\n";
for (const name of [...packages].sort()) {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  text += `\n${name} ${version}: ${license}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").replaceAll("\r\n", "\n").trim()}\n`;
}
writeFileSync("licences.txt", text);
