/** Runs a stored query with arguments, in a test run, and shows its rows or its response. */
import { type ReactNode, useState } from 'react';
import { type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';
import type { StoredQuery } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { useSubmit } from '../primitives/use-submit.ts';
import { TriedNode, testOf } from '../runs/test-node.tsx';
import { type TestRun, useTestRun } from '../runs/use-test-run.ts';
import { argumentsOf, inputOf } from '../workflows/arguments.ts';
import { ArgumentField } from '../workflows/start-run.tsx';
import { ResultTable } from './result-table.tsx';

/** Whether the query can change data: SQL that is not read-only, and an HTTP method that is not safe. */
function canWrite({ query }: StoredQuery): boolean {
  const request = query['request'];
  if (request !== undefined && isJsonObject(request)) return request['method'] !== 'GET';
  return query['readOnly'] === false;
}

export function RunQuery({ stored }: { readonly stored: StoredQuery }): ReactNode {
  const test = useTestRun();
  const [asked, setAsked] = useState<FormData | undefined>();
  const declared = argumentsOf({ args: stored.query['parameters'] ?? [] });
  const run = (form: FormData): Promise<void> =>
    test.start(testOf('dataQuery', { query: stored.name, version: stored.version, inputValues: inputOf(form, declared) }, {}));
  const { isBusy, error, onSubmit } = useSubmit(async (form) => {
    if (canWrite(stored)) setAsked(form);
    else await run(form);
  });
  return (
    <>
      <form className="card run-query" aria-label="Run it" onSubmit={onSubmit}>
        <h2>Run it</h2>
        {declared.length === 0 ? <p className="dim">The query has no parameters.</p> : null}
        <div className="field-pair">
          {declared.map((argument) => (
            <ArgumentField key={argument.name} argument={argument} />
          ))}
        </div>
        <div className="actions">
          <button type="submit" className="primary" disabled={isBusy || stored.archivedAt !== undefined}>
            {isBusy ? 'Starting…' : canWrite(stored) ? 'Run it…' : 'Run it'}
          </button>
          <span className="dim small">
            {stored.archivedAt === undefined
              ? 'The result is deleted when you leave the page.'
              : 'An archived query cannot run. Publish its next version.'}
          </span>
        </div>
        {error === undefined ? null : <ErrorText error={error} />}
      </form>
      <Result test={test} />
      {asked === undefined ? null : (
        <Dialog
          title={`Run ${stored.name}?`}
          action="Run it"
          isDangerous
          onClose={() => setAsked(undefined)}
          onConfirm={() => run(asked)}
        >
          <p>This query can change data. What it changes stays changed: a test run does not undo it.</p>
        </Dialog>
      )}
    </>
  );
}

const Result = ({ test }: { readonly test: TestRun }): ReactNode => (
  <TriedNode test={test}>
    {({ output }) => {
      const rows = rowsOf(output);
      return rows === undefined ? <JsonTree value={output} /> : <ResultTable rows={rows} />;
    }}
  </TriedNode>
);

/** An HTTP response has none. */
const rowsOf = (output: JsonValue | undefined): readonly JsonValue[] | undefined => {
  const rows = output !== undefined && isJsonObject(output) ? output['rows'] : undefined;
  return rows !== undefined && isJsonArray(rows) ? rows : undefined;
};
