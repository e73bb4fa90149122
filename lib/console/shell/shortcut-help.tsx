/** The list of the shortcuts, and the choice to turn off those without a modifier. */
import { type ReactNode, useId, useState } from 'react';
import { CloseButton } from '../primitives/close-button.tsx';
import { Modal } from '../primitives/modal.tsx';
import { pages } from './pages.tsx';
import { areKeysOn, paletteKey, turnKeys } from './shortcuts.ts';

const rows: readonly (readonly [keys: readonly string[], text: string])[] = [
  [[paletteKey], 'Go to a page, a workflow or a run'],
  [['/'], 'Search in the page'],
  [['j', 'k'], 'Next and previous row of a list'],
  [['Enter'], 'Open the row'],
  [['x'], 'Select the row'],
  [['[', ']'], 'Previous and next tab'],
  [['?'], 'This list'],
];

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const heading = useId();
  const [isOn, setOn] = useState(areKeysOn);
  const letters = pages.flatMap(({ title, letter }) => (letter === undefined ? [] : [[['g', letter], title] as const]));
  return (
    <Modal name={{ id: heading }} closesOutside onClose={onClose}>
      <div className="shortcuts-head">
        <h2 id={heading}>Keyboard shortcuts</h2>
        <CloseButton label="Close the list" onClose={onClose} />
      </div>
      <dl className="shortcuts">
        {[...rows, ...letters].map(([keys, text]) => (
          <div key={text}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ currentTarget: { checked } }) => {
            turnKeys(checked);
            setOn(checked);
          }}
        />
        Keys without Ctrl or Command
      </label>
    </Modal>
  );
}
