/** The whole definition as JSON. It is taken when one applies it, as one step of undo. */
import { type ReactNode, useState } from 'react';
import type { JsonValue } from '../../engine/json.ts';
import { CopyButton } from '../primitives/copy-button.tsx';
import { ErrorText } from '../primitives/error-text.tsx';
import * as commands from './commands.ts';
import { definitionJson, readDefinition } from './read-definition.ts';
import type { Editor } from './use-editor.ts';

export function JsonView({ editor: { document, run } }: { readonly editor: Editor }): ReactNode {
  const shown = JSON.stringify(definitionJson(document.definition), undefined, 2);
  const [draft, setDraft] = useState<string | undefined>();
  const [error, setError] = useState<unknown>();
  const apply = (): void => {
    try {
      const value: JsonValue = JSON.parse(draft ?? shown);
      const definition = readDefinition(document.definition.name, value);
      run((each) => commands.replaceDefinition(each, definition));
      setDraft(undefined);
      setError(undefined);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <div className="json-view">
      <div className="actions">
        <button type="button" className="primary" onClick={apply} disabled={draft === undefined || draft === shown}>
          Apply
        </button>
        <button type="button" onClick={() => setDraft(undefined)} disabled={draft === undefined}>
          Discard
        </button>
        <CopyButton text={shown} label="Copy" />
      </div>
      {error === undefined ? null : <ErrorText error={error} />}
      <textarea
        aria-label="The definition as JSON"
        value={draft ?? shown}
        spellCheck={false}
        onChange={(event) => setDraft(event.currentTarget.value)}
      />
    </div>
  );
}
