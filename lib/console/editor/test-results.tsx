/** The result of the last test: the run's status and output, and each node with its output or its failure. */
import type { ReactNode } from 'react';
import type { Run, RunNode } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { Hidden } from '../primitives/hidden.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Status } from '../primitives/status.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { select } from './commands.ts';
import type { Editor } from './use-editor.ts';

interface TestResultsProps {
  readonly editor: Editor;
  readonly run: Run;
  readonly onDelete: () => void;
}

const tookOf = ({ createdAt, completedAt }: Run): string =>
  completedAt === undefined ? '' : durationText(Date.parse(completedAt) - Date.parse(createdAt));

export function TestResults({ editor, run, onDelete }: TestResultsProps): ReactNode {
  return (
    <details className="findings test" open>
      <summary>
        Last test: <Status status={run.status} /> <span className="dim">{tookOf(run)}</span>
      </summary>
      <ul aria-label="Nodes of the test">
        {run.nodes.map((node) => (
          <NodeResult key={`${node.nodeId} ${node.iteration ?? ''}`} editor={editor} node={node} />
        ))}
        {isOpenRun(run) ? null : (
          <li className="test-node">
            <b>Output</b>
            {run.payloadsHidden === true ? <Hidden /> : <JsonTree value={run.output} depth={2} />}
          </li>
        )}
      </ul>
      <button type="button" className="more" onClick={onDelete}>
        Delete this test
      </button>
    </details>
  );
}

const NodeResult = ({ editor: { run }, node }: { readonly editor: Editor; readonly node: RunNode }): ReactNode => (
  <li className="test-node">
    <span className="actions">
      <button type="button" className="more" onClick={() => run((each) => select(each, node.nodeId))}>
        {node.nodeId}
        {node.iteration === undefined ? '' : ` [${node.iteration}]`}
      </button>
      <Status status={node.status} />
      {node.isPinned === true ? <span className="dim small">pinned</span> : null}
      {node.durationMs === undefined ? null : <span className="dim small">{durationText(node.durationMs)}</span>}
    </span>
    <div>
      {node.error === undefined ? null : (
        <span className="bad">
          <code>{node.error.code}</code> <bdi>{node.error.message}</bdi>
        </span>
      )}
      {node.output === undefined ? null : <JsonTree value={node.output} depth={2} />}
    </div>
  </li>
);
