// Gives textareas with data-editor-kind the looks of an editor: line numbers, colours, completion by the
// schema of definitions, and marks where faults are. The textarea stays what a form sends.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The names in the schema of what a text is; a text of another kind is not completed.
const kinds = { repository: "Repository", app: "App" };

// told is that the page tells other faults.
const told = StateEffect.define();

const looks = EditorView.theme({
  "&": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "8px", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "20rem", maxHeight: "72vh" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--quiet)", border: "0", borderRadius: "8px 0 0 8px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 24%, transparent) !important" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--mark)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "8px", fontFamily: "var(--sans)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--soft)", color: "var(--ink)" },
  ".cm-completionInfo": { maxWidth: "22rem", padding: ".5rem .75rem" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal" },
  // The images of these are data: URLs, which the policy of the page refuses.
  ...Object.fromEntries(["error", "warning", "info", "hint"].flatMap((severity) => [
    [`.cm-lintRange-${severity}`, { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" }],
    [`.cm-lint-marker-${severity}`, { content: "normal", backgroundColor: "var(--bad)", borderRadius: "50%", width: "9px", height: "9px", margin: "5px 0 0 2px" }],
  ])),
  ".cm-panels input, .cm-panels button": { font: "inherit", color: "inherit", background: "var(--sunken)", border: "1px solid var(--edge)", borderRadius: "6px" },
});
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--other)" },
  { tag: [tags.separator, tags.brace, tags.squareBracket], color: "var(--quiet)" },
]);

export function edit(textarea, schemaFile) {
  if (textarea.dataset.edited) return;
  textarea.dataset.edited = "true";
  const host = document.createElement("div");
  host.className = "code-editor";
  const root = host.attachShadow({ mode: "open" }); // where its styles are no elements, which the policy of the page refuses
  textarea.before(host);
  textarea.hidden = true;
  const schema = textarea.dataset.editorKind in kinds ? fetch(schemaFile).then((answer) => answer.json()) : null;
  const label = [...(textarea.labels ?? [])].map((one) => one.textContent).join(" ").trim();
  const syntax = jsonParseLinter();
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        lineNumbers(), foldGutter(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), history(), indentOnInput(), bracketMatching(), closeBrackets(),
        highlightSelectionMatches(), json(), syntaxHighlighting(colours), looks, EditorView.lineWrapping,
        autocompletion({ override: schema ? [async (context) => complete(context, await schema, textarea.dataset.editorKind)] : [] }),
        lintGutter(), linter((view) => (view.state.doc.length ? [...syntax(view), ...marks(textarea, view.state.doc.length)] : []), {
          delay: 200, needsRefresh: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(told))),
        }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.domEventHandlers({ beforeinput: (event, view) => replaced(event, view) }),
        EditorView.contentAttributes.of({ "aria-label": label || "Text", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          textarea.value = update.state.doc.toString();
          textarea.dispatchEvent(new Event("input", { bubbles: true }));
        }),
      ],
    }),
  });
  textarea.addEventListener("pick", ({ detail: { from, to } }) => {
    const end = view.state.doc.length;
    view.dispatch({ selection: { anchor: Math.min(from, end), head: Math.min(to, end) }, effects: EditorView.scrollIntoView(Math.min(from, end), { y: "center" }) });
    view.focus();
  });
  const again = () => (host.isConnected ? view.dispatch({ effects: told.of(null) }) : (document.removeEventListener("alive", again), view.destroy()));
  document.addEventListener("alive", again);
}

// replaced writes over what is chosen. A browser that did so itself would write styles into lines, which the
// policy of the page refuses.
function replaced(event, view) {
  const { main } = view.state.selection, text = event.data;
  if (event.inputType !== "insertText" || event.isComposing || !text || main.empty) return false;
  const write = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, main.from, main.to, text, write))) view.dispatch(write());
  event.preventDefault();
  return true;
}

// marks are the faults that the page tells of the text.
function marks(textarea, end) {
  return [...(textarea.closest("[data-editor]")?.querySelectorAll("[data-from]") ?? [])].map(({ dataset, parentElement }) => ({
    from: Math.min(+dataset.from, end), to: Math.min(+dataset.to, end), severity: "error", message: parentElement.dataset.detail ?? parentElement.textContent.trim(),
  }));
}

// complete offers the names and values that the schema has where the cursor is.
function complete(context, schema, kind) {
  const { state, pos } = context, tree = syntaxTree(state);
  let node = tree.resolveInner(pos, -1);
  const typed = context.matchBefore(/"?[\w.-]*/);
  if (!context.explicit && typed.from === typed.to) return null;
  let from = typed.from, to = pos;
  if (node.name === "PropertyName" || node.name === "String") ({ from, to } = node);
  while (node.type.isError || ["PropertyName", "String", "Number", "True", "False", "Null"].includes(node.name)) {
    // After a colon a text is a value, at the beginning of a member a name.
    if (node.name === "String" && node.parent?.name === "Property") break;
    node = node.parent;
  }
  const before = state.sliceDoc(0, from).trimEnd().at(-1);
  const isValue = before === ":" || before === "[" || (before === "," && container(node) === "Array");
  const steps = pathTo(node, state, isValue);
  const at = steps.reduce((found, step) => below(found, step, schema), schema.$defs[kinds[kind]]);
  if (!at) return null;
  const rest = state.sliceDoc(to, to + 1) === '"' ? to + 1 : to;
  if (isValue) {
    const values = at.enum ?? (at.type === "boolean" ? [true, false] : []);
    return values.length ? { from, to: rest, filter: false, options: near(values.map((value) => ({ label: JSON.stringify(value), info: at.description })), state.sliceDoc(from, pos)) } : null;
  }
  const there = members(node, state);
  const options = Object.entries(at.properties ?? {})
    .filter(([name, of]) => !there.includes(name) && of !== false && !of.readOnly)
    .map(([name, of]) => ({ label: name, detail: [of.type ?? ""].flat().filter((one) => one !== "null").join(" or "), info: of.description, apply: JSON.stringify(name) + (/^\s*:/.test(state.sliceDoc(rest, rest + 9)) ? "" : ": ") }));
  return options.length ? { from, to: rest, filter: false, options: near(options, state.sliceDoc(from, pos)) } : null;
}

// near keeps the options that contain what is typed, those first that begin with it.
function near(options, typed) {
  const text = typed.replaceAll('"', "").toLowerCase(), of = (one) => one.label.replaceAll('"', "").toLowerCase();
  return options.filter((one) => of(one).includes(text)).map((one) => ({ ...one, boost: of(one).startsWith(text) ? 1 : 0 }));
}

const container = (node) => {
  while (node && node.name !== "Object" && node.name !== "Array") node = node.parent;
  return node?.name;
};

// pathTo are the names of members, and * for those of lists, down to the object that the node is in; to
// the member itself for its value.
function pathTo(node, state, isValue) {
  const steps = [];
  for (let at = node, inner = isValue; at; at = at.parent) {
    if (at.name === "Property") {
      const name = at.getChild("PropertyName");
      if (inner && name) steps.unshift(JSON.parse(state.sliceDoc(name.from, name.to)));
    } else if (at.name === "Array") {
      steps.unshift("*");
      inner = true;
    } else if (at.name === "Object") {
      inner = true;
    }
  }
  return steps;
}

function members(node, state) {
  while (node && node.name !== "Object") node = node.parent;
  return (node?.getChildren("Property") ?? []).map((one) => one.getChild("PropertyName")).filter(Boolean).map((name) => {
    try {
      return JSON.parse(state.sliceDoc(name.from, name.to));
    } catch {
      return "";
    }
  });
}

function below(of, step, schema) {
  const found = step === "*" ? of?.items : of?.properties?.[step] ?? (typeof of?.additionalProperties === "object" ? of.additionalProperties : undefined);
  return found?.$ref ? { ...schema.$defs[found.$ref.split("/").at(-1)], description: found.description } : found;
}
