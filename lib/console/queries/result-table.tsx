/** The rows of a result, with a column for each key. More rows appear on demand: a result has up to 10,000. */
import { type ReactNode, useState } from 'react';
import { type JsonValue, isJsonObject } from '../../engine/json.ts';

const pageSize = 100;
const maxText = 2_000;

export function ResultTable({ rows }: { readonly rows: readonly JsonValue[] }): ReactNode {
  const [shown, setShown] = useState(pageSize);
  const columns = [...new Set(rows.flatMap((row) => (isJsonObject(row) ? Object.keys(row) : [])))];
  if (rows.length === 0) return <p className="none dim">The result has no rows.</p>;
  return (
    <>
      <p className="dim">
        {rows.length} {rows.length === 1 ? 'row' : 'rows'}
      </p>
      <div className="result-scroll" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  <bdi>{name}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, index) => (
              // The rows of one result never move.
              <tr key={index}>
                {columns.map((name) => (
                  <Cell key={name} value={isJsonObject(row) && Object.hasOwn(row, name) ? row[name] : undefined} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown ? (
        <button type="button" onClick={() => setShown(shown + 10 * pageSize)}>
          {rows.length - shown} more
        </button>
      ) : null}
    </>
  );
}

const Cell = ({ value }: { readonly value: JsonValue | undefined }): ReactNode => {
  if (value === undefined || value === null) return <td className="dim">{value === null ? 'null' : ''}</td>;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <td>
      <bdi>{text.length > maxText ? `${text.slice(0, maxText)}…` : text}</bdi>
    </td>
  );
};
