// What stands around every page: navigation, who is signed in, keys, light and dark.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { Button } from './components/button.tsx';
import { Chip } from './components/chip.tsx';
import { Icon, icons } from './components/icon.tsx';
import { RunningWorks } from './components/work.tsx';
import { KeysDialog } from './keys-dialog.tsx';
import { useShortcuts } from './lib/keyboard.ts';
import { useMe } from './lib/me.ts';
import { pages } from './lib/pages.ts';
import { signOut } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import { setTheme, THEMES, theme } from './lib/theme.ts';
import { WhoDialog } from './who-dialog.tsx';

const THEME_ICONS = {
  auto: 'M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14',
  light:
    'M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.5 4.5l1 1M14.500 14.5l1 1M4.500 15.5l1-1M14.500 5.5l1-1',
  dark: 'M16 12.500A7 7 0 0 1 7.500 4 6.500 6.500 0 1 0 16 12.500z',
} as const;

export function Shell({ children }: { children: ComponentChildren }) {
  const { caller, tenantName, isAdmin, isReadOnly } = useMe();
  const [path, navigate] = useLocation();
  const [open, setOpen] = useState<'keys' | 'who' | 'menu' | null>(null);
  const chosen = useStore(theme);
  const shown = pages.filter((page) => page.order !== undefined && (isAdmin || !page.isForAdmins));
  useShortcuts(
    useMemo(
      () => [
        { keys: '/', does: 'Search', run: () => focusSearch(() => navigate('/search')) },
        { keys: '?', does: 'Show these keys', run: () => setOpen('keys') },
        { keys: 'Escape', does: 'Close what is open', run: () => setOpen(null) },
        ...pages.flatMap((page) =>
          page.key && (isAdmin || !page.isForAdmins)
            ? [{ keys: `g ${page.key}`, does: `Go to ${page.title}`, run: () => navigate(page.path) }]
            : [],
        ),
      ],
      [navigate, isAdmin],
    ),
  );
  useEffect(() => setOpen(null), [path]);
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length]!;

  return (
    <div class={`shell ${open === 'menu' ? 'menu-open' : ''}`}>
      <a class="skip" href="#content">
        Skip to the contents
      </a>
      <header class="top">
        <Button
          look="quiet"
          icon={icons.menu}
          label="Pages"
          isPressed={open === 'menu'}
          onClick={() => setOpen(open === 'menu' ? null : 'menu')}
        />
        <Link href="/" class="brand">
          l9-memory
        </Link>
        <span class="space" />
        <RunningWorks />
        {isReadOnly && (
          <Chip tone="warn" title="This key can write in no scope">
            read-only
          </Chip>
        )}
        <button type="button" class="who" onClick={() => setOpen('who')}>
          <span class="unseen">Signed in as </span>
          <strong>{caller}</strong>
          <span class="tenant">{tenantName}</span>
          <span class="unseen">: show its rights</span>
        </button>
        <Button look="quiet" icon={icons.keys} label="Keys" onClick={() => setOpen('keys')} />
        <Button
          look="quiet"
          icon={THEME_ICONS[chosen]}
          label={`Colours: ${chosen}. Change to ${next}`}
          onClick={() => setTheme(next)}
        />
        <Button look="quiet" icon={icons.out} label="Sign out" onClick={() => signOut()} />
      </header>
      <nav class="side" aria-label="Pages">
        {shown.map((page) => (
          <Link key={page.path} href={page.path} aria-current={isWithin(path, page.path) ? 'page' : undefined}>
            {page.icon && <Icon d={page.icon} />}
            {page.title}
          </Link>
        ))}
      </nav>
      {children}
      {open === 'keys' && <KeysDialog onClose={() => setOpen(null)} />}
      {open === 'who' && <WhoDialog onClose={() => setOpen(null)} />}
    </div>
  );
}

const isWithin = (path: string, page: string) => path === page || path.startsWith(`${page}/`);

/** The search field of the page, or the page of search. */
function focusSearch(openSearch: () => void): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field) field.select();
  else openSearch();
}
