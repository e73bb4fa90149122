/** Values for a lens, and a call of its model with them, in a test run. */
import { type ReactNode, useId } from 'react';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import { defined } from '../../base/defined.ts';
import type { Lens, RunNode } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { formText } from '../primitives/form-text.ts';
import { JsonTree } from '../primitives/json-tree.tsx';
import { useSubmit } from '../primitives/use-submit.ts';
import { TriedNode, testOf } from '../runs/test-node.tsx';
import { useTestRun } from '../runs/use-test-run.ts';
import { ModelNames } from '../workflows/model-names.tsx';
import { type LensField, fieldsOf, valuesOf } from './lens-values.ts';

interface TryLensProps {
  readonly lens: Lens;
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (change: Readonly<Record<string, string>>) => void;
}

export function TryLens({ lens, values, onChange }: TryLensProps): ReactNode {
  const test = useTestRun();
  const models = useId();
  const fields = fieldsOf(lens);
  const { isBusy, error, onSubmit } = useSubmit(async (form) => {
    const model = formText(form, 'model').trim();
    const config: JsonObject = {
      lens: lens.name,
      version: lens.version,
      ...defined({ model: model === '' ? undefined : model }),
    };
    await test.start(testOf('lens', config, valuesOf(fields, values)));
  });
  return (
    <div>
      <form className="card" aria-label="Try it" onSubmit={onSubmit}>
        <h2>Try it</h2>
        {fields.length === 0 ? <p className="dim">The template has no placeholders.</p> : null}
        {fields.map((field) => (
          <ValueField
            key={field.label}
            field={field}
            value={values[field.label] ?? ''}
            onChange={(value) => onChange({ [field.label]: value })}
          />
        ))}
        <label>
          Model
          <input name="model" maxLength={64} placeholder={lens.model ?? 'default'} spellCheck={false} list={models} />
        </label>
        <ModelNames id={models} />
        <div className="actions">
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? 'Starting…' : 'Call the model'}
          </button>
          <span className="dim small">It can cost money. The data of the call is deleted when you leave the page.</span>
        </div>
        {error === undefined ? null : <ErrorText error={error} />}
      </form>
      <TriedNode test={test}>{(node) => <Answer output={node.output} />}</TriedNode>
    </div>
  );
}

interface ValueFieldProps {
  readonly field: LensField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const ValueField = ({ field: { label, type, isRequired, description }, value, onChange }: ValueFieldProps): ReactNode => (
  <label>
    <span>
      <bdi>{label}</bdi>{' '}
      <span className="dim small">
        {type ?? 'text'}
        {isRequired ? '' : ', optional'}
      </span>
    </span>
    <textarea
      rows={value.includes('\n') ? 4 : 1}
      value={value}
      spellCheck={false}
      {...(description === undefined ? {} : { placeholder: description })}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  </label>
);

const part = (output: JsonValue | undefined, name: string): JsonValue | undefined =>
  output !== undefined && isJsonObject(output) ? output[name] : undefined;

function Answer({ output }: { readonly output: RunNode['output'] }): ReactNode {
  const answer = part(output, 'output');
  const rest = { data: part(output, 'data'), media: part(output, 'media'), metadata: part(output, 'metadata') };
  return (
    <>
      <h3>Answer</h3>
      <pre className="prompt" tabIndex={0} aria-label="Answer">
        {typeof answer === 'string' ? answer : JSON.stringify(answer, undefined, 2)}
      </pre>
      <JsonTree value={defined(rest)} />
    </>
  );
}
