/** Another version was published meanwhile: the author chooses a side for each part that differs, and publishes over the newest one. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import { type JsonValue, isJsonObject } from '../../engine/json.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { type ComparedDefinition, withoutPosition } from '../workflows/definition-diff.ts';
import { comparedOf } from './compared.ts';
import { definitionJson } from './read-definition.ts';
import { definitionOf, loadVersion } from './stored.ts';
import { type MergePart, type Side, mergeParts, merged } from './three-way.ts';

interface MergeDialogProps {
  readonly mine: WorkflowDefinition;
  readonly basedOn: number | null;
  readonly newest: number;
  /** publishes the merged definition over the newest version */
  readonly onMerge: (definition: WorkflowDefinition) => Promise<void>;
  readonly onClose: () => void;
}

export function MergeDialog({ mine, basedOn, newest, onMerge, onClose }: MergeDialogProps): ReactNode {
  const { name } = mine;
  const versions = useQuery({
    queryKey: ['merge', name, basedOn, newest],
    queryFn: async () => {
      const [base, theirs] = await Promise.all([loadVersion(name, basedOn), loadVersion(name, newest)]);
      return { base, theirs };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map());
  const own: ComparedDefinition = comparedOf(definitionJson(mine));
  const parts = versions.data === undefined ? [] : mergeParts(versions.data.base, versions.data.theirs, own);
  const sideOf = (part: MergePart): Side => choices.get(part.key) ?? part.proposal;
  const conflicts = parts.filter(({ isConflict }) => isConflict).length;
  return (
    <Dialog
      title={`v${newest} was published meanwhile`}
      action={`Publish over v${newest}`}
      isWide
      onClose={onClose}
      onConfirm={() => onMerge(definitionOf(name, merged(own, parts, sideOf)))}
    >
      <p>
        Your changes are based on {basedOn === null ? 'no version' : `v${basedOn}`}.{' '}
        {conflicts === 0
          ? 'You and the other author changed different parts, so both changes are taken.'
          : `${conflicts} ${conflicts === 1 ? 'part was' : 'parts were'} changed on both sides: choose.`}
      </p>
      {versions.error === null ? null : <ErrorText error={versions.error} onRetry={() => void versions.refetch()} />}
      {versions.isPending ? <Loading /> : null}
      {parts.map((part) => (
        <PartChoice
          key={part.key}
          part={part}
          newest={newest}
          side={sideOf(part)}
          onChoose={(side) => setChoices(new Map([...choices, [part.key, side]]))}
        />
      ))}
    </Dialog>
  );
}

interface PartChoiceProps {
  readonly part: MergePart;
  readonly newest: number;
  readonly side: Side;
  readonly onChoose: (side: Side) => void;
}

const PartChoice = ({ part, newest, side, onChoose }: PartChoiceProps): ReactNode => (
  <fieldset className="merge-part card">
    <legend>
      <span className="dim">{part.part}</span> <b>{part.name}</b>{' '}
      {part.isConflict ? <span className="bad small">changed on both sides</span> : null}
    </legend>
    <div className="merge-sides">
      {(['mine', 'newest'] as const).map((each) => (
        <label key={each} className={each === side ? 'merge-side chosen' : 'merge-side'}>
          <span className="check">
            <input type="radio" name={part.key} checked={each === side} onChange={() => onChoose(each)} />
            {each === 'mine' ? 'mine' : `v${newest}`}
          </span>
          <pre tabIndex={0}>{shown(part[each])}</pre>
        </label>
      ))}
    </div>
  </fieldset>
);

const shown = (value: JsonValue | undefined): string => {
  if (value === undefined) return 'not there';
  return JSON.stringify(isJsonObject(value) ? withoutPosition(value) : value, undefined, 2);
};
