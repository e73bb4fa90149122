/** What a person can do with a schedule, each in a dialog that says what happens. */
import { type ReactNode, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { type Schedule, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { go } from '../router.tsx';

interface ActionProps {
  readonly schedule: Schedule;
  readonly onClose: () => void;
}

export function RunNow({
  schedule: { scheduleId, workflowName, input, version, payloadsHidden },
  onClose,
}: ActionProps): ReactNode {
  // One key for the dialog: a confirmation that is repeated after a lost response starts one run.
  const [key] = useState(() => crypto.randomUUID());
  return (
    <Dialog
      title={`Run ${workflowName} now?`}
      action="Start a run"
      onClose={onClose}
      onConfirm={async () => {
        // Without the input, this would be another run.
        if (payloadsHidden === true) throw new Error('The input of the schedule is hidden: your session lacks payloads:read.');
        const { runId } = await api.startRun({ workflowName, ...defined({ input, version }) }, key);
        go(`/runs/${encodeURIComponent(runId)}`);
      }}
    >
      <p>
        A run starts with the input of {scheduleId}. It does not count as a run of the schedule, whose next due time stays as it
        is.
      </p>
      {version === undefined ? null : <p>As the schedule, it starts v{version}, and not the latest version.</p>}
    </Dialog>
  );
}

export function PauseSchedule({ schedule: { scheduleId, paused }, onClose }: ActionProps): ReactNode {
  const queries = useQueryClient();
  return (
    <Dialog
      title={paused ? `Resume ${scheduleId}?` : `Pause ${scheduleId}?`}
      action={paused ? 'Resume it' : 'Pause it'}
      onClose={onClose}
      onConfirm={async () => {
        await (paused ? api.resumeSchedule(scheduleId) : api.pauseSchedule(scheduleId));
        await queries.invalidateQueries({ queryKey: ['schedules'] });
      }}
    >
      <p>
        {paused
          ? 'It starts runs again from its next due time. Due times during the pause are not made up.'
          : 'It starts no runs until you resume it. Runs that it started continue.'}
      </p>
    </Dialog>
  );
}

export function DeleteSchedule({ schedule: { scheduleId }, onClose }: ActionProps): ReactNode {
  const queries = useQueryClient();
  return (
    <Dialog
      title={`Delete ${scheduleId}?`}
      action="Delete the schedule"
      isDangerous
      onClose={onClose}
      onConfirm={async () => {
        await api.deleteSchedule(scheduleId);
        go('/schedules', 'replace');
        queries.removeQueries({ queryKey: ['schedules', scheduleId] });
        await queries.invalidateQueries({ queryKey: ['schedules'], exact: true });
      }}
    >
      <p>It starts no more runs. Runs that it started continue. To stop it for a while, pause it.</p>
    </Dialog>
  );
}
