/** Starts run B again on the version or deployment of run A, and compares the new run with A. */
import { type ReactNode, useState } from 'react';
import { type Run, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { setSearch } from '../router.tsx';

interface RunOnVersionProps {
  readonly a: Run;
  readonly b: Run;
}

/** What a rerun of B changes so that only the input differs from A; undefined if nothing would change or B cannot run again. */
function versionChange(a: Run, b: Run): { readonly version: number } | { readonly deploymentId: string } | undefined {
  if (a.workflowName !== b.workflowName) return undefined;
  if ([a, b].some(({ isTest, isExternal }) => isTest === true || isExternal === true)) return undefined;
  if (a.workflowVersion !== null && b.workflowVersion !== null)
    return a.workflowVersion === b.workflowVersion ? undefined : { version: a.workflowVersion };
  return a.deploymentId === null || b.deploymentId === null || a.deploymentId === b.deploymentId
    ? undefined
    : { deploymentId: a.deploymentId };
}

export function RunOnVersion({ a, b }: RunOnVersionProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  // One key for this comparison: a confirmation that is repeated after a lost response starts one run.
  const [key] = useState(() => crypto.randomUUID());
  const change = versionChange(a, b);
  if (change === undefined) return null;
  const target = 'version' in change ? `v${change.version}` : change.deploymentId;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Run B’s input on {target}…
      </button>
      {isOpen ? (
        <Dialog
          title={`Run B’s input on ${target}?`}
          action="Start and compare"
          onClose={() => setOpen(false)}
          onConfirm={async () => {
            const { runId } = await api.rerun(b.runId, change, key);
            setSearch({ b: runId });
          }}
        >
          <p>
            A new run starts from the beginning, with the input of run B and {target} of run A. Both runs stay as they are. This
            page then compares run A with the new run: what still differs comes from the input.
          </p>
        </Dialog>
      ) : null}
    </>
  );
}
