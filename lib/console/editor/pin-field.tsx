/** The pinned output of a node: in tests the node does not run, and has this output. */
import { type ReactNode, useState } from 'react';
import type { NodeDefinition } from '../../engine/graph/definition.ts';
import { defined } from '../../base/defined.ts';
import { mainHandle } from '../../engine/graph/outcome.ts';
import type { JsonValue } from '../../engine/json.ts';
import { handlesOf } from './catalogue.ts';
import { pinNode } from './commands.ts';
import { looseText, looseValue } from './loose-value.ts';
import type { NodeResults } from './test-run.ts';
import type { Editor } from './use-editor.ts';

interface PinFieldProps {
  readonly editor: Editor;
  readonly node: NodeDefinition;
  readonly results: NodeResults;
}

export function PinField({ editor: { document, run }, node: { id }, node, results }: PinFieldProps): ReactNode {
  const [draft, setDraft] = useState<string | undefined>();
  const pin = Object.hasOwn(document.pins, id) ? document.pins[id] : undefined;
  const handles = handlesOf(node, document.definition.edges);
  const tested = results.get(id)?.output;
  if (handles.length === 0) return null;
  const set = (output: JsonValue, handle = pin?.handle): void =>
    run((each) => pinNode(each, id, defined({ output, handle: handle === mainHandle ? undefined : handle })), `pin of ${id}`);
  if (pin === undefined)
    return (
      <div className="actions pin">
        <button type="button" className="more" onClick={() => set(tested ?? null)}>
          {tested === undefined ? 'Pin an output for tests' : 'Pin the output of the last test'}
        </button>
      </div>
    );
  return (
    <fieldset className="field pin">
      <legend>Pinned output</legend>
      <p className="help">In tests this node does not run, and has this output.</p>
      <textarea
        aria-label="Pinned output"
        rows={4}
        spellCheck={false}
        value={draft ?? looseText(pin.output)}
        onChange={({ currentTarget: { value: text } }) => {
          const value = looseValue(text);
          setDraft(value === undefined || looseText(value) !== text ? text : undefined);
          if (value !== undefined) set(value);
        }}
        onBlur={() => setDraft(undefined)}
      />
      <span className="actions">
        <select
          aria-label="It ends by"
          value={pin.handle ?? mainHandle}
          onChange={(event) => set(pin.output, event.currentTarget.value)}
        >
          {handles.map((handle) => (
            <option key={handle}>{handle}</option>
          ))}
        </select>
        <button type="button" className="more" onClick={() => run((each) => pinNode(each, id, undefined))}>
          Remove the pin
        </button>
      </span>
    </fieldset>
  );
}
