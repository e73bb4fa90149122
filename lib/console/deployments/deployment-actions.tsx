/** Activates, deactivates or removes a deployment. The dialog says what happens to new runs, to open runs, and to workflows. */
import { type ReactNode, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError, type DeploymentSummary, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { type ActiveDeployment, runsText } from './active-deployment.ts';

interface ActionsProps {
  readonly deployment: DeploymentSummary;
  readonly active: ActiveDeployment | undefined;
  readonly activeRuns: number | undefined;
}

type Action = 'activate' | 'roll back' | 'deactivate' | 'remove';

export function DeploymentActions(props: ActionsProps): ReactNode {
  const [open, setOpen] = useState<Action | undefined>();
  const { deploymentId, status } = props.deployment;
  const close = (): void => setOpen(undefined);
  const button = (action: Action, text: string): ReactNode => (
    <button type="button" className="quiet" aria-label={`${text} ${deploymentId}…`} onClick={() => setOpen(action)}>
      {text}…
    </button>
  );
  return (
    <>
      {status === 'created' ? button('activate', 'Activate') : null}
      {status === 'inactive' ? button('roll back', 'Roll back to') : null}
      {status === 'active' ? button('deactivate', 'Deactivate') : button('remove', 'Remove')}
      {open === 'activate' || open === 'roll back' ? (
        <ActivateDialog {...props} isRollBack={open === 'roll back'} onClose={close} />
      ) : null}
      {open === 'deactivate' ? <DeactivateDialog {...props} onClose={close} /> : null}
      {open === 'remove' ? <RemoveDialog deployment={props.deployment} onClose={close} /> : null}
    </>
  );
}

/** Sends the change. If workflows that it removes are in use, the dialog then offers to remove them all the same. */
function useRemovingChange(change: (allowRemoval: boolean) => Promise<unknown>) {
  const queries = useQueryClient();
  const [isInUse, setInUse] = useState(false);
  return {
    confirm: async (form: FormData): Promise<void> => {
      try {
        await change(form.get('allowRemoval') === 'on');
      } catch (error) {
        if (error instanceof ApiError && error.code === 'workflows_in_use') setInUse(true);
        throw error;
      }
      await queries.invalidateQueries({ queryKey: ['deployments'] });
    },
    choice: isInUse ? (
      <label className="check">
        <input type="checkbox" name="allowRemoval" /> Remove these workflows all the same
      </label>
    ) : null,
  };
}

interface DialogProps extends ActionsProps {
  readonly onClose: () => void;
}

function ActivateDialog({
  deployment: { deploymentId, app, workflows },
  active,
  activeRuns,
  isRollBack,
  onClose,
}: DialogProps & { readonly isRollBack: boolean }): ReactNode {
  const { confirm, choice } = useRemovingChange((allowRemoval) =>
    isRollBack ? api.rollBack(deploymentId, allowRemoval) : api.activate(deploymentId, allowRemoval),
  );
  const names = new Set(workflows.map(({ name }) => name));
  const before = active?.workflows ?? [];
  return (
    <Dialog
      title={isRollBack ? `Roll back to ${deploymentId}?` : `Activate ${deploymentId}?`}
      action={isRollBack ? 'Roll back' : 'Activate it'}
      onClose={onClose}
      onConfirm={confirm}
    >
      <ul>
        <li>New runs of the app {app} start on this deployment, from the next start on.</li>
        {active === undefined ? null : (
          <li>
            {activeRuns === undefined ? 'Open runs' : runsText(activeRuns)} of <code>{active.deploymentId}</code>
            {activeRuns === 1 ? ' stays' : ' stay'} on that deployment until {activeRuns === 1 ? 'it ends' : 'they end'}.
          </li>
        )}
        <Names text="It adds" names={[...names].filter((name) => !before.includes(name))} />
        <Names text="It removes" names={before.filter((name) => !names.has(name))} />
      </ul>
      {choice}
    </Dialog>
  );
}

const Names = ({ text, names }: { readonly text: string; readonly names: readonly string[] }): ReactNode =>
  names.length === 0 ? null : (
    <li>
      {text} the {names.length === 1 ? 'workflow' : 'workflows'} <bdi>{names.join(', ')}</bdi>.
    </li>
  );

function DeactivateDialog({ deployment: { deploymentId, app, openRuns }, active, onClose }: DialogProps): ReactNode {
  const { confirm, choice } = useRemovingChange((allowRemoval) => api.deactivate(deploymentId, allowRemoval));
  return (
    <Dialog title={`Deactivate ${deploymentId}?`} action="Deactivate it" isDangerous onClose={onClose} onConfirm={confirm}>
      <ul>
        <li>The app {app} then has no active deployment: no run starts on its workflows by name.</li>
        <li>
          {runsText(openRuns)} of it {openRuns === 1 ? 'continues' : 'continue'} on this deployment.
        </li>
        <Names text="It removes" names={active?.workflows ?? []} />
      </ul>
      {choice}
    </Dialog>
  );
}

function RemoveDialog({
  deployment: { deploymentId, openRuns },
  onClose,
}: Omit<DialogProps, 'active' | 'activeRuns'>): ReactNode {
  const queries = useQueryClient();
  return (
    <Dialog
      title={`Remove ${deploymentId}?`}
      action="Remove it"
      isDangerous
      onClose={onClose}
      onConfirm={async () => {
        await api.removeDeployment(deploymentId);
        await queries.invalidateQueries({ queryKey: ['deployments'] });
      }}
    >
      <p>The deployment and its archive are deleted. Its id cannot be used again, and you cannot roll back to it.</p>
      {openRuns === 0 ? null : (
        <p className="notice wait">It has {runsText(openRuns)}, so the server refuses to remove it until they end.</p>
      )}
    </Dialog>
  );
}
