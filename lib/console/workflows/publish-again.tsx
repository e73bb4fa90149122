/** Rolls back: publishes the definition of an older version again, as the next version. Earlier versions never change. */
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { type WorkflowDetail, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { setSearch } from '../router.tsx';
import { publishable } from './publishable.ts';

interface PublishAgainProps {
  readonly workflow: WorkflowDetail;
  readonly onClose: () => void;
}

export function PublishAgain({ workflow, onClose }: PublishAgainProps): ReactNode {
  const queries = useQueryClient();
  const { name, version, latestVersion } = workflow;
  return (
    <Dialog
      title={`Publish v${version} again?`}
      action={`Publish it as v${latestVersion + 1}`}
      onClose={onClose}
      onConfirm={async () => {
        await api.publish(name, { ...publishable(workflow), basedOn: latestVersion, note: `v${version} again` });
        await queries.invalidateQueries({ queryKey: ['workflow', name] });
        setSearch({ version: undefined });
      }}
    >
      <p>
        New runs start on the definition of v{version}. Runs of v{latestVersion} that are open continue with it.
      </p>
    </Dialog>
  );
}
