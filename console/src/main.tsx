import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { listenForKeys } from './lib/keyboard.ts';
import { signInWithCode, takeCode } from './lib/session.ts';
import { applyTheme } from './lib/theme.ts';

applyTheme();
listenForKeys();
const code = takeCode();
if (code !== null) await signInWithCode(code);
render(<App />, document.getElementById('app')!);
