/** The shortcuts of each page, the palette and the list of the shortcuts, with a button for who has no keyboard. */
import { type ReactNode, Suspense, lazy, useState } from 'react';
import { Icon } from '../primitives/icon.tsx';
import { paletteKey, useShortcuts } from './shortcuts.ts';

const Palette = lazy(() => import('./palette.tsx').then(({ Palette: component }) => ({ default: component })));
const ShortcutHelp = lazy(() => import('./shortcut-help.tsx').then(({ ShortcutHelp: component }) => ({ default: component })));

export function Keyboard(): ReactNode {
  const [open, setOpen] = useState<'palette' | 'help' | undefined>();
  const openHelp = (): void => setOpen('help');
  const close = (): void => setOpen(undefined);
  useShortcuts({ openPalette: () => setOpen('palette'), openHelp });
  return (
    <>
      <button type="button" className="go-to" aria-label={`Go to… ${paletteKey}`} onClick={() => setOpen('palette')}>
        <Icon name="search" /> <kbd>{paletteKey}</kbd>
      </button>
      <Suspense fallback={null}>
        {open === 'palette' ? <Palette onHelp={openHelp} onClose={close} /> : null}
        {open === 'help' ? <ShortcutHelp onClose={close} /> : null}
      </Suspense>
    </>
  );
}
