/** Where the inputs of two runs differ, by JSON pointer. */
import type { ReactNode } from 'react';
import type { JsonValue } from '../../engine/json.ts';
import type { Run } from '../api.ts';
import { Hidden } from '../primitives/hidden.tsx';
import { changesOf } from '../workflows/definition-diff.ts';

const maxChanges = 100;

export function InputDifference({ a, b }: { readonly a: Run; readonly b: Run }): ReactNode {
  const isOmitted = a.inputOmitted !== undefined || b.inputOmitted !== undefined;
  const isHidden = a.payloadsHidden === true || b.payloadsHidden === true;
  const changes = isOmitted || isHidden ? [] : changesOf(a.input, b.input, '');
  const shown = changes.slice(0, maxChanges);
  return (
    <section className="part" aria-label="Input">
      <div className="part-head">
        <h2>Input</h2>
        <span className="count">{isOmitted || isHidden ? 'not compared' : changes.length}</span>
      </div>
      {isHidden ? (
        <Hidden />
      ) : isOmitted ? (
        <p className="none dim">An input is too large for a response of the API.</p>
      ) : shown.length === 0 ? (
        <p className="none dim">Both runs have the same input.</p>
      ) : (
        <table className="rows stack compare-values">
          <thead>
            <tr>
              <th scope="col">JSON pointer</th>
              <th scope="col">A</th>
              <th scope="col">B</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ pointer, before, after }) => (
              <tr key={pointer}>
                <td>
                  <code>{pointer === '' ? '(whole input)' : pointer}</code>
                </td>
                <Cell name="A" value={before} />
                <Cell name="B" value={after} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {changes.length > maxChanges ? <p className="dim">{changes.length - maxChanges} more differences.</p> : null}
    </section>
  );
}

const Cell = ({ name, value }: { readonly name: string; readonly value: JsonValue | undefined }): ReactNode => (
  <td data-label={name}>
    {value === undefined ? <span className="dim">absent</span> : <code>{JSON.stringify(value).slice(0, 400)}</code>}
  </td>
);
