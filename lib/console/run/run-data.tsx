/** The input and the output of a run, and the outputs of its nodes. */
import { type ReactNode, useState } from 'react';
import type { Run, RunNode } from '../api.ts';
import { Hidden } from '../primitives/hidden.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { isOpenRun } from '../runs/open-run.ts';

export function RunData({ run }: { readonly run: Run }): ReactNode {
  const [hasNodes, setHasNodes] = useState(false);
  return (
    <div className="columns">
      <section className="card">
        <h2>Input</h2>
        <Value value={run.input} omitted={run.inputOmitted} isHidden={run.payloadsHidden} />
      </section>
      <section className="card">
        <h2>Output</h2>
        {isOpenRun(run) ? (
          <p className="dim">The run has not ended.</p>
        ) : (
          <Value value={run.output} omitted={run.outputOmitted} isHidden={run.payloadsHidden} />
        )}
      </section>
      <section className="card wide">
        <h2>Outputs of nodes</h2>
        <button type="button" onClick={() => setHasNodes(!hasNodes)} aria-expanded={hasNodes}>
          {hasNodes ? 'Hide' : 'Show'}
        </button>
        {!hasNodes ? null : run.payloadsHidden === true ? (
          <Hidden />
        ) : (
          <JsonTree value={Object.fromEntries(run.nodes.flatMap(entryOf))} />
        )}
      </section>
    </div>
  );
}

/** A node without an output has no entry. */
const entryOf = ({ nodeId, output, outputOmitted }: RunNode): [string, unknown][] => {
  if (outputOmitted !== undefined) return [[nodeId, sizeText(outputOmitted)]];
  return output === undefined ? [] : [[nodeId, output]];
};

const sizeText = ({ bytes }: { readonly bytes: number }): string =>
  `${bytes.toLocaleString()} bytes: too large for a response of the API.`;

interface ValueProps {
  readonly value: unknown;
  readonly omitted: { readonly bytes: number } | undefined;
  /** as the response says: `payloadsHidden` */
  readonly isHidden: true | undefined;
}

export const Value = ({ value, omitted, isHidden }: ValueProps): ReactNode => {
  if (isHidden) return <Hidden />;
  if (omitted !== undefined) return <p className="dim">{sizeText(omitted)}</p>;
  return value === undefined ? <p className="dim">None.</p> : <JsonTree value={value} />;
};
