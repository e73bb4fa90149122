/** The nodes of two runs, row by row: path, duration, outputs and failures. Outputs are shown on demand. */
import { type ReactNode, useState } from 'react';
import type { RunNode } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { Hidden } from '../primitives/hidden.tsx';
import { OwnText } from '../primitives/own-text.tsx';
import { Status } from '../primitives/status.tsx';
import { Value } from '../run/run-data.tsx';
import type { ComparedNode, OutputComparison } from './compare-runs.ts';

/** A run can have thousands of iterations. */
const firstRows = 200;

interface NodeTableProps {
  readonly nodes: readonly ComparedNode[];
  /** as the responses say: `payloadsHidden` */
  readonly isHidden: true | undefined;
}

export function NodeTable({ nodes, isHidden }: NodeTableProps): ReactNode {
  const [isFiltered, setFiltered] = useState(false);
  const [shown, setShown] = useState(firstRows);
  const different = nodes.filter(({ isDifferent }) => isDifferent);
  const rows = isFiltered ? different : nodes;
  return (
    <>
      {isHidden === true ? <Hidden /> : null}
      <label className="check compare-filter">
        <input type="checkbox" checked={isFiltered} onChange={() => setFiltered(!isFiltered)} />
        Only the {different.length} of {nodes.length} nodes that differ
      </label>
      {rows.length === 0 ? (
        <p className="none dim">{nodes.length === 0 ? 'Neither run has reached a node.' : 'No node differs.'}</p>
      ) : (
        <table className="rows stack compare-nodes">
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">A</th>
              <th scope="col">B</th>
              <th scope="col">Outputs</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((node) => (
              <NodeRow key={node.key} node={node} />
            ))}
          </tbody>
        </table>
      )}
      {rows.length > shown ? (
        <button type="button" onClick={() => setShown(shown + firstRows)}>
          {rows.length - shown} more
        </button>
      ) : null}
    </>
  );
}

const outputWords: Readonly<Record<OutputComparison, string>> = {
  same: 'same',
  different: '≠ different',
  unknown: 'too large to compare',
  none: 'none',
};

function NodeRow({ node }: { readonly node: ComparedNode }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { a, b, label, nodeId, iteration, outputs, partsHere } = node;
  return (
    <>
      <tr className={node.isDifferent ? 'differs' : undefined}>
        <td>
          <b>
            <OwnText>{label}</OwnText>
          </b>{' '}
          {label === nodeId ? null : <code className="dim">{nodeId}</code>}
          {iteration === undefined ? null : <span className="dim"> in {iteration}</span>}
          {partsHere ? <span className="parting">≠ the paths part here</span> : null}
        </td>
        <State name="A" node={a} />
        <State name="B" node={b} />
        <td data-label="Outputs">
          {outputs === 'none' ? (
            <span className="dim">{outputWords.none}</span>
          ) : (
            <button
              type="button"
              className={outputs === 'different' ? 'quiet wait' : 'quiet'}
              aria-expanded={isOpen}
              aria-label={`Outputs of ${nodeId}: ${outputs}`}
              onClick={() => setOpen(!isOpen)}
            >
              {outputWords[outputs]}
            </button>
          )}
        </td>
      </tr>
      {isOpen ? (
        <tr className="compare-outputs">
          <td colSpan={4}>
            <div className="columns">
              <div>
                <h3>Output in A</h3>
                <Value value={a?.output} omitted={a?.outputOmitted} isHidden={undefined} />
              </div>
              <div>
                <h3>Output in B</h3>
                <Value value={b?.output} omitted={b?.outputOmitted} isHidden={undefined} />
              </div>
            </div>
          </td>
        </tr>
      ) : null}
    </>
  );
}

const State = ({ name, node }: { readonly name: string; readonly node: RunNode | undefined }): ReactNode => (
  <td data-label={name}>
    {node === undefined ? (
      <span className="dim">not reached</span>
    ) : (
      <>
        <Status status={node.status} />{' '}
        <span className="dim">
          {node.durationMs === undefined ? '' : durationText(node.durationMs)}
          {node.attempt > 1 ? `, attempt ${node.attempt}` : ''}
        </span>
        {node.error === undefined ? null : (
          <p className="compare-error">
            <code className="bad">{node.error.code}</code> <bdi>{node.error.message}</bdi>
          </p>
        )}
      </>
    )}
  </td>
);
