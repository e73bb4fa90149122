/** Starts a run: a form with the declared arguments of the workflow, or its input as JSON. */
import { type ReactNode, useState } from 'react';
import type { WorkflowDetail } from '../api.ts';
import { api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formJson } from '../primitives/form-text.ts';
import { go } from '../router.tsx';
import { type DeclaredArgument, argumentsOf, inputOf } from './arguments.ts';

interface StartRunProps {
  readonly workflow: Pick<WorkflowDetail, 'name' | 'latestVersion' | 'options' | 'version'>;
  readonly onClose: () => void;
}

export function StartRun({ workflow, onClose }: StartRunProps): ReactNode {
  // One key for the dialog: a confirmation that is repeated after a lost response starts one run.
  const [key] = useState(() => crypto.randomUUID());
  const declared = argumentsOf(workflow.options);
  const [isJson, setJson] = useState(declared.length === 0);
  return (
    <Dialog
      title={`Start a run of ${workflow.name}`}
      action="Start"
      onClose={onClose}
      onConfirm={async (form) => {
        const input = isJson ? formJson(form, 'input') : inputOf(form, declared);
        const { runId } = await api.startRun({ workflowName: workflow.name, input }, key);
        go(`/runs/${encodeURIComponent(runId)}`);
      }}
    >
      <p>
        It runs on v{workflow.latestVersion}, the latest version.
        {declared.length === 0 ? ' The workflow declares no arguments, so it accepts each JSON value.' : ''}
      </p>
      {isJson ? (
        <label>
          Input, as JSON
          <textarea name="input" rows={8} defaultValue="{}" spellCheck={false} />
        </label>
      ) : (
        declared.map((argument) => <ArgumentField key={argument.name} argument={argument} />)
      )}
      {declared.length === 0 ? null : (
        <button type="button" className="quiet" onClick={() => setJson(!isJson)}>
          {isJson ? 'Fill in the arguments' : 'Write the input as JSON'}
        </button>
      )}
    </Dialog>
  );
}

/** A field for one argument, by its type. */
export function ArgumentField({
  argument: { name, type, required, initial },
}: {
  readonly argument: DeclaredArgument;
}): ReactNode {
  const text = initial === undefined ? '' : typeof initial === 'string' ? initial : JSON.stringify(initial);
  return (
    <label>
      <span>
        {name} <span className="dim small">{required ? type : `${type}, optional`}</span>
      </span>
      {type === 'boolean' ? (
        <select name={name} defaultValue={text} required={required}>
          <option value="">not given</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : type === 'object' || type === 'array' ? (
        <textarea name={name} rows={4} required={required} defaultValue={text} spellCheck={false} />
      ) : (
        <input name={name} type={type === 'number' ? 'number' : 'text'} step="any" required={required} defaultValue={text} />
      )}
    </label>
  );
}
