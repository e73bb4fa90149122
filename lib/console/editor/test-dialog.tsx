/** Starts a test of what one edits: its input, and the outputs that nodes have without running. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { JsonValue } from '../../engine/json.ts';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import { api } from '../api.ts';
import { argumentsOf } from '../workflows/arguments.ts';
import { comparedOf } from './compared.ts';
import { definitionJson } from './read-definition.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { useMaySeePayloads } from '../primitives/hidden.tsx';
import { ErrorText } from '../primitives/error-text.tsx';
import { formJson } from '../primitives/form-text.ts';
import { pinsFrom } from './pins.ts';
import type { Editor } from './use-editor.ts';

interface TestDialogProps {
  readonly editor: Editor;
  readonly onStart: (input: JsonValue) => Promise<void>;
  readonly onClose: () => void;
}

/** By workflow, as long as the page is open: the next test begins with the input of the last one. */
const lastInputs = new Map<string, string>();

export function TestDialog({ editor, onStart, onClose }: TestDialogProps): ReactNode {
  const { definition } = editor.document;
  const maySee = useMaySeePayloads();
  const pinned = Object.keys(editor.document.pins);
  const errors = editor.findings.filter(({ severity }) => severity === 'error').length;
  return (
    <Dialog
      title="Test what you see"
      action="Run the test"
      onClose={onClose}
      onConfirm={async (form) => {
        const value = formJson(form, 'input');
        await onStart(value);
        lastInputs.set(definition.name, JSON.stringify(value, undefined, 2));
      }}
    >
      <p>Nothing is published. The data of a test is deleted when you start the next one or leave the editor.</p>
      {maySee ? null : <p>Pins that the draft has are hidden to your session, and do not apply: those nodes run.</p>}
      {errors === 0 ? null : <p className="bad">The definition has errors, which the server will refuse.</p>}
      <label>
        Input, as JSON
        <textarea
          name="input"
          rows={6}
          defaultValue={lastInputs.get(definition.name) ?? exampleInput(definition)}
          spellCheck={false}
        />
      </label>
      <p>
        {pinned.length === 0
          ? 'Every node runs. Pin an output in the form of a node, or'
          : `Pinned, so they do not run: ${pinned.join(', ')}. Or`}{' '}
        take the outputs of a run:
      </p>
      <PinFromRun editor={editor} />
    </Dialog>
  );
}

function PinFromRun({ editor: { document, run } }: { readonly editor: Editor }): ReactNode {
  const { name } = document.definition;
  const [error, setError] = useState<unknown>();
  const runs = useQuery({
    queryKey: ['runs of', name],
    queryFn: ({ signal }) => api.runs({ workflowName: name, limit: 20 }, signal),
  });
  const rows = runs.data?.data ?? [];
  const take = (runId: string): void => {
    setError(undefined);
    api
      .run(runId, {}, new AbortController().signal)
      .then((found) => {
        if (found.payloadsHidden === true) throw new Error('The outputs are hidden: your session lacks payloads:read.');
        run((each) => ({ ...each, pins: { ...each.pins, ...pinsFrom(each.definition, found.nodes) } }));
      })
      .catch(setError);
  };
  return (
    <>
      <select
        aria-label="Pin the outputs of a run"
        value=""
        disabled={rows.length === 0}
        onChange={({ currentTarget: { value } }) => {
          if (value !== '') take(value);
        }}
      >
        <option value="">{rows.length === 0 ? 'no run yet' : 'pin from run…'}</option>
        {rows.map(({ runId, status, createdAt }) => (
          <option key={runId} value={runId}>
            …{runId.slice(-8)} {status}, {new Date(createdAt).toLocaleString()}
          </option>
        ))}
      </select>
      {error === undefined ? null : <ErrorText error={error} />}
    </>
  );
}

/** A test begins with a value for each declared argument. */
function exampleInput(definition: WorkflowDefinition): string {
  const examples = { string: '', number: 0, boolean: false, object: {}, array: [] };
  const declared = argumentsOf(comparedOf(definitionJson(definition)).options);
  return JSON.stringify(
    Object.fromEntries(declared.map(({ name, type, initial }) => [name, initial ?? examples[type]])),
    undefined,
    2,
  );
}
