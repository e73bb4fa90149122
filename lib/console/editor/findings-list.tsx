/** All findings. Each leads to its place. */
import { type ReactNode, useState } from 'react';
import * as commands from './commands.ts';
import type { PlacedFinding } from './findings.ts';
import type { Editor } from './use-editor.ts';

const placeOf = ({ nodeId, edge, field }: PlacedFinding): string => {
  const name = nodeId ?? (edge === undefined ? 'workflow' : `edge ${edge + 1}`);
  return field.length === 0 ? name : `${name} /${field.join('/')}`;
};

const selectPlace =
  ({ nodeId, edge }: PlacedFinding) =>
  (document: Editor['document']) => {
    if (nodeId !== undefined) return commands.select(document, nodeId);
    return edge === undefined ? commands.selectNothing(document) : commands.selectEdge(document, edge);
  };

export function FindingsList({ editor: { findings, run } }: { readonly editor: Editor }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  return (
    <details className="findings" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {findings.length === 0 ? (
          <span className="good">No findings</span>
        ) : (
          <>
            {errors === 0 ? null : <b className="bad">{errors === 1 ? '1 error' : `${errors} errors`}</b>}
            {warnings === 0 ? null : <b className="wait"> {warnings === 1 ? '1 warning' : `${warnings} warnings`}</b>}
          </>
        )}
      </summary>
      <ul aria-label="Findings">
        {findings.map((finding) => (
          <li key={`${finding.pointer} ${finding.code} ${finding.message}`}>
            <button type="button" className="finding" onClick={() => run(selectPlace(finding))}>
              <span className={finding.severity === 'error' ? 'bad' : 'wait'}>{finding.severity}</span>
              <code>{placeOf(finding)}</code>
              <span>{finding.message}</span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
