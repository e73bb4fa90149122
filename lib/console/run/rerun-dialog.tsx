/** Runs a workflow again, with another input or version, from its start or from one node. */
import { type ReactNode, useState } from 'react';
import { defined } from '../../base/defined.ts';
import { type Run, api } from '../api.ts';
import { isGraphRun } from '../compare/definition-difference.tsx';
import { Dialog } from '../primitives/dialog.tsx';
import { Hidden } from '../primitives/hidden.tsx';
import { formJson, formText } from '../primitives/form-text.ts';
import { go } from '../router.tsx';
import { type Replaced, ReplacedOutputs, replacementsOf } from './replaced-outputs.tsx';

interface RerunDialogProps {
  readonly run: Run;
  /** continue from this node, with the earlier results */
  readonly fromNode?: string;
  readonly onClose: () => void;
}

const keeps = (run: Run): string =>
  isGraphRun(run)
    ? 'A new run keeps the results of the nodes that do not depend on this one. They do not run again.'
    : 'A new run takes over the results of the steps before this one. They do not run again.';

export function RerunDialog({ run, fromNode, onClose }: RerunDialogProps): ReactNode {
  // One key for the dialog: a confirmation that is repeated after a lost response starts one run.
  const [key] = useState(() => crypto.randomUUID());
  const [replaced, setReplaced] = useState<Replaced>(new Map());
  const given = run.input === undefined ? '' : JSON.stringify(run.input, undefined, 2);
  const start = async (form: FormData): Promise<void> => {
    const text = formText(form, 'input');
    const version = Number(formText(form, 'version'));
    const changes = defined({
      fromNode,
      input: text === given || text.trim() === '' ? undefined : formJson(form, 'input'),
      version: version > 0 && version !== run.workflowVersion ? version : undefined,
      ...replacementsOf(run, replaced),
    });
    const { runId } = await api.rerun(run.runId, changes, key);
    go(`/runs/${encodeURIComponent(runId)}`);
  };
  return (
    <Dialog
      title={fromNode === undefined ? 'Run again' : `Run again from ${fromNode}`}
      action="Start"
      onClose={onClose}
      onConfirm={start}
    >
      <p>{fromNode === undefined ? 'A new run starts from the beginning. This run stays as it is.' : keeps(run)}</p>
      <label>
        Input, as JSON
        <textarea name="input" rows={8} defaultValue={given} spellCheck={false} />
      </label>
      {run.payloadsHidden === true ? (
        <>
          <Hidden />
          <p className="dim">An empty field keeps the input of this run.</p>
        </>
      ) : null}
      {run.workflowVersion === null ? null : (
        <label>
          Version
          <input name="version" type="number" min={1} defaultValue={run.workflowVersion} />
        </label>
      )}
      {fromNode === undefined ? null : (
        <ReplacedOutputs run={run} fromNode={fromNode} replaced={replaced} onChange={setReplaced} />
      )}
    </Dialog>
  );
}
