"""Speech like Tacotron: an encoder of characters, attention, a decoder that goes on until it wants to stop. The code imports
what reads and writes sound."""

import librosa
import librosa.filters
import torch
from scipy.io import wavfile
from torch import nn


class Decoder(nn.Module):
    def __init__(self, width, bands):
        super().__init__()
        self.bands = bands
        self.before = nn.Linear(bands, width)
        self.cell = nn.LSTMCell(2 * width, width)
        self.score = nn.Linear(2 * width, 1)
        self.frame, self.stop = nn.Linear(2 * width, bands), nn.Linear(2 * width, 1)

    def forward(self, memory, longest: int):
        batch, _, width = memory.shape
        state = memory.new_zeros(batch, width), memory.new_zeros(batch, width)
        frame, frames = memory.new_zeros(batch, self.bands), []
        for _ in range(longest):
            around = state[0].unsqueeze(1).expand_as(memory)
            weights = torch.softmax(self.score(torch.cat([memory, around], 2)), 1)
            context = (weights * memory).sum(1)
            state = self.cell(torch.cat([torch.relu(self.before(frame)), context], 1), state)
            both = torch.cat([state[0], context], 1)
            frame = self.frame(both)
            frames.append(frame)
            if bool((torch.sigmoid(self.stop(both)) > 0.9).all()):
                break
        return torch.stack(frames, 1)


class Tacotron(nn.Module):
    def __init__(self, letters=40, width=32, bands=20):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.context = nn.Conv1d(width, width, 5, padding=2)
        self.encoder = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.decoder = Decoder(width, bands)

    def forward(self, text):
        letters = torch.relu(self.context(self.letters(text).transpose(1, 2))).transpose(1, 2)
        return self.decoder(self.encoder(letters)[0], 12)

    def training_target(self, path):
        rate, sound = wavfile.read(path)
        return librosa.filters.mel(sr=rate, n_fft=1024) @ librosa.stft(sound)


def model():
    return Tacotron()


def inputs():
    return (torch.arange(2 * 9).reshape(2, 9) % 40,)
