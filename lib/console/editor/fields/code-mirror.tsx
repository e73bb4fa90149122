/** A field with CodeMirror: JavaScript or a template, with completions of what the run knows. It is loaded where one types. */
import { type ReactNode, useContext, useEffect, useRef } from 'react';
import {
  type CompletionContext,
  type CompletionResult,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { javascript } from '@codemirror/legacy-modes/mode/javascript';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder as placeholderText } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { completionsAt } from '../completions.ts';
import { useCatalogue } from '../../workflows/use-catalogue.ts';
import { KnownNames } from '../known-names.ts';
import type { TypedTextProps } from './typed-text.tsx';

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--live)' },
  { tag: tags.comment, color: 'var(--dim)' },
  { tag: [tags.function(tags.variableName), tags.propertyName], color: 'var(--ink)' },
]);

/** A tokenizer: a parser of JavaScript would be a quarter of what this field loads, and the server checks the syntax anyway. */
const script = StreamLanguage.define(javascript);

const theme = EditorView.theme({
  '&': { border: '1px solid var(--line-strong)', borderRadius: '6px', backgroundColor: 'var(--raised)', maxHeight: '420px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', fontSize: '12.5px', lineHeight: '1.5', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '5px 0' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--dim)', border: '0' },
  '.cm-placeholder': { color: 'var(--dim)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line-strong)', color: 'var(--ink)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--accent-ink)' },
  '.cm-completionDetail': { color: 'inherit', opacity: '0.85' },
});

/** The policy of the page allows style elements that have its nonce. A browser hides the attribute, and not the property. */
const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';

export default function CodeMirrorField(props: TypedTextProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const names = useContext(KnownNames);
  const { secrets } = useCatalogue();
  // CodeMirror lives as long as the field; what it calls is always the newest.
  const current = useRef({ props, names, secrets });
  useEffect(() => {
    current.current = { props, names, secrets };
  });
  useEffect(() => {
    const { current: parent } = place;
    if (parent === null) return undefined;
    const complete = (context: CompletionContext): CompletionResult | null => {
      const { names: known, secrets: offered, props: now } = current.current;
      const usable = now.acceptsSecrets === true ? offered : undefined;
      const found = completionsAt(context.state.sliceDoc(0, context.pos), known, now.language === 'template', usable);
      return found === undefined ? null : { from: found.from, options: [...found.options], validFor: /^[\p{ID_Continue}$]*$/u };
    };
    const editor = new EditorView({
      parent,
      state: EditorState.create({
        doc: current.current.props.value,
        extensions: [
          ...extensionsOf(current.current.props),
          autocompletion({ override: [complete] }),
          EditorView.updateListener.of((update) => {
            const text = update.state.doc.toString();
            if (update.docChanged && text !== current.current.props.value) current.current.props.onChange(text);
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const { current: editor } = view;
    if (editor === undefined || editor.state.doc.toString() === props.value) return;
    // Undo, another node, or the JSON of the config has changed the text.
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.value } });
  }, [props.value]);
  const { described } = props;
  useEffect(() => {
    const content = view.current?.contentDOM;
    content?.setAttribute('aria-invalid', String(described.isInvalid));
    if (described.describedBy === undefined) content?.removeAttribute('aria-describedby');
    else content?.setAttribute('aria-describedby', described.describedBy);
  }, [described.isInvalid, described.describedBy]);
  return <div ref={place} className={described.isInvalid ? 'code invalid' : 'code'} />;
}

/**
 * Replaces the selection itself when one types over it. Chromium would copy the colours of the replaced text into a style attribute,
 * which the policy of the page forbids and the browser reports.
 */
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType, isComposing } = event;
    if (inputType !== 'insertText' || isComposing || data === null || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

function extensionsOf({ language, placeholder, label, described }: TypedTextProps): readonly Extension[] {
  const shared = [
    EditorView.cspNonce.of(nonce()),
    history(),
    bracketMatching(),
    closeBrackets(),
    // Tab leaves the field, as in the others.
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
    syntaxHighlighting(colours),
    theme,
    typeOver,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ id: described.id, 'aria-label': label, spellcheck: 'false' }),
    placeholderText(placeholder),
  ];
  return language === 'script' ? [...shared, script, lineNumbers(), indentOnInput()] : shared;
}
